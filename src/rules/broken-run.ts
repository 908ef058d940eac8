import type { SourceError } from '../model/source.ts';

/** How long a source rests after the process ended while it read it, by how many times in a row that was. */
const RESTS_MS = [60_000, 30 * 60_000];
/** Between two of those that were read when it ended: should it end again, it is told by which. */
const APART_MS = 10_000;

/** What becomes of a source in whose reading the process ended. */
export interface BrokenRun {
  error: SourceError;
  /** Unix milliseconds. */
  notBefore: number;
  isPaused: boolean;
}

/**
 * A source that may have ended the process is not the first thing that the next one reads. `times` counts this one, `place` is
 * the source's among those that were being read.
 */
export function afterBrokenRun({
  times,
  place,
  now,
}: {
  times: number;
  place: number;
  now: number;
}): BrokenRun {
  const restMs = RESTS_MS[times - 1];
  const ended = `The server ended while it read this source${times === 1 ? '' : `, ${times} times in a row`}.`;
  const isPaused = restMs === undefined;
  const next = isPaused ? 'It is paused; resume it to have it read again.' : 'It is read again later.';
  return {
    error: { code: 'process_ended', message: `${ended} ${next}`, at: now },
    notBefore: now + (restMs ?? 0) + place * APART_MS,
    isPaused,
  };
}
