/** The task of both sides in one round. */
export interface Round {
  /** The addresses of receivers, one per endpoint. */
  urls: string[];
  deliveries: number;
  concurrency: number;
}

/** The result of one side. */
export interface Measured {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  peakRssMiB: number;
}

/**
 * Deliveries sent first, which are not counted: until its code is compiled, for the first 20,000 or so, our side sends at
 * half of its later speed.
 */
export const WARM_UP = 20_000;

export function peakRssMiB(): number {
  return Math.round(process.resourceUsage().maxRSS / 1024);
}

/** A post with a unique text, whose signal has a body of about 900 bytes, like a real one. */
export function samplePost(n: number): { text: string; url: string } {
  const words = Array.from({ length: 42 }, (_, i) =>
    (((n + 1) * 7_919 * (i + 1)) % 2_176_782_336).toString(36),
  );
  const text = `We are looking for a new booking system for our ${n % 40}-person firm this month. Budget is set. ${words.join(' ')}`;
  return { text, url: `https://forum.example/t/${n}` };
}
