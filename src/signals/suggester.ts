import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import { createFifo, type Fifo } from '../lib/queues.ts';
import { createYielder } from '../lib/yielding.ts';
import { DomainError } from '../model/errors.ts';
import type { IcpProfile } from '../model/icp.ts';
import type { IcpSuggestion } from '../model/icp-quality.ts';
import type { Judgement, SignalStore } from '../store/signal-store.ts';
import { type JudgedPost, judgedPostOf, suggestChanges } from './suggest-changes.ts';

/** How many of the newest signals with feedback precision and suggestions are computed from. */
export const MAX_JUDGED = 500;

/** Profiles whose suggestions are kept, about 10 KB each, those that were looked at last. */
const MAX_KEPT = 500;
/** An erasure that leaves every length as it was is noticed after this at the latest. */
const MAX_AGE_MS = 10 * 60_000;
/** Others that wait for their suggestions, each for a second or two. */
const MAX_WAITING = 16;
const RETRY_AFTER_SECONDS = 10;

/** Works out what feedback suggests for profiles, and keeps it for as long as it holds. */
export interface Suggester {
  /** @throws DomainError `UNAVAILABLE` where too many others wait already */
  suggest(profile: IcpProfile): Promise<readonly IcpSuggestion[]>;
}

interface Kept {
  stamp: string;
  madeAt: number;
  suggestions: Promise<readonly IcpSuggestion[]>;
}

/**
 * Suggestions take a second of processor time for long posts, and a profile's screen asks for them at each view: they are
 * made anew only after the profile, its feedback or a judged post has changed, once for all who ask meanwhile, and for one
 * profile at a time, so that the posts of one are in memory.
 */
export function createSuggester(store: SignalStore, clock: Clock): Suggester {
  /** By profile. */
  const kept = new LRUCache<string, Kept>({ max: MAX_KEPT });
  const line = createLine(MAX_WAITING);

  async function make(profile: IcpProfile, judgements: readonly Judgement[]) {
    return line.inTurn(async () => {
      const nextTurn = createYielder(clock);
      const posts: JudgedPost[] = [];
      for (const judgement of judgements) {
        const signal = await store.getSignal(profile.tenantId, judgement.signalId);
        if (signal !== null) posts.push(judgedPostOf(judgement, signal));
        await nextTurn();
      }
      return await suggestChanges(profile, posts, nextTurn);
    });
  }

  return {
    async suggest(profile) {
      const judgements = await store.listJudgements(profile.tenantId, profile.id, MAX_JUDGED);
      const stamp = stampOf(profile, judgements);
      const now = clock.monotonic();
      const known = kept.get(profile.id);
      const isGood = known?.stamp === stamp && now - known.madeAt < MAX_AGE_MS;
      const entry = isGood ? known : { stamp, madeAt: now, suggestions: make(profile, judgements) };
      kept.set(profile.id, entry);
      try {
        return await entry.suggestions;
      } catch (error) {
        if (kept.get(profile.id) === entry) kept.delete(profile.id);
        throw error;
      }
    },
  };
}

/** What suggestions follow from. */
function stampOf({ tenantId, version }: IcpProfile, judgements: readonly Judgement[]): string {
  return createHash('sha256')
    .update(JSON.stringify([tenantId, version, judgements]))
    .digest('base64');
}

/** One piece of work after the other, and not more than `most` waiting. */
function createLine(most: number): { inTurn<T>(work: () => Promise<T>): Promise<T> } {
  const waiting: Fifo<() => void> = createFifo();
  let isBusy = false;
  return {
    async inTurn(work) {
      if (isBusy) {
        if (waiting.size >= most) throw tooMany();
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      isBusy = true;
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) isBusy = false;
        else next();
      }
    },
  };
}

function tooMany(): DomainError {
  return new DomainError('UNAVAILABLE', 'Suggestions for too many profiles are being worked out.', {
    hint: `Wait ${RETRY_AFTER_SECONDS} seconds (Retry-After), then try again.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
