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

/** A post whose signal makes a body of about 900 bytes, like a real one. */
export function samplePost(n: number): { text: string; url: string } {
  const text = `We are looking for a new booking system for our ${n % 40}-person firm this month. Budget is set. ${'The old one loses jobs and nobody answers the phone there. '.repeat(5)}`;
  return { text, url: `https://forum.example/t/${n}` };
}
