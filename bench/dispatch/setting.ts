/** What both sides are told to do in one round. */
export interface Round {
  /** Receiver addresses, one an endpoint. */
  urls: string[];
  deliveries: number;
  concurrency: number;
}

/** What one side measured. */
export interface Measured {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  peakRssMiB: number;
}

/**
 * Deliveries sent first and not counted: while its code is still being compiled, in its first 20,000 or so, our side sends
 * half of what it does later.
 */
export const WARM_UP = 20_000;

export function peakRssMiB(): number {
  return Math.round(process.resourceUsage().maxRSS / 1024);
}

/** A post whose signal makes a body of about 900 bytes, like a real one, and whose text is like no other's. */
export function samplePost(n: number): { text: string; url: string } {
  const words = Array.from({ length: 42 }, (_, i) =>
    (((n + 1) * 7_919 * (i + 1)) % 2_176_782_336).toString(36),
  );
  const text = `We are looking for a new booking system for our ${n % 40}-person firm this month. Budget is set. ${words.join(' ')}`;
  return { text, url: `https://forum.example/t/${n}` };
}
