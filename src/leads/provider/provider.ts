import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { Agent, type Dispatcher } from 'undici';
import { type Clock, DAY_MS, HOUR_MS, toIso } from '../../lib/clock.ts';
import type { LeadStore } from '../../store/lead-store.ts';
import type { Fact } from '../facts.ts';
import { askOnce, ProviderFault, type Question } from './request.ts';

/** What a provider said, and when (Unix milliseconds). */
export interface ProviderAnswer {
  facts: readonly Fact[];
  at: number;
}

/** A provider of facts about people and companies, over HTTP. */
export interface Provider {
  /** Null where it cannot be asked or does not answer; never rejects. Questions that are the same are asked once. */
  ask(question: Question): Promise<ProviderAnswer | null>;
  /** Forgets every answer: somebody was erased. */
  forget(): void;
  /** Cuts off what is under way. */
  close(): Promise<void>;
}

/** What a provider needs of the process. */
export interface ProviderParts {
  url: string;
  /** Questions in a day (UTC), all tenants together, over restarts. */
  dailyLimit: number;
  clock: Clock;
  store: Pick<LeadStore, 'countEnrichment'>;
  log: { warn(fields: object, message: string): void };
}

const MOST_AT_ONCE = 8;
/** Answers are kept for a day, those too that nothing is known. */
const KEPT_MS = DAY_MS;
const MOST_KEPT = 5_000;
/** States of the breaker: closed ── five failures in a row → open, for a minute or as long as it asks ── then one question → closed or open. */
const FAILURES_TO_OPEN = 5;
const OPEN_MS = 60_000;
const MOST_OPEN_MS = HOUR_MS;

/** The provider at an address: any that the operator has set, inside a network or out. */
export function createProvider(parts: ProviderParts): Provider {
  const { clock, store, log, dailyLimit } = parts;
  const url = new URL(parts.url);
  const stopping = new AbortController();
  const dispatcher: Dispatcher = new Agent({ connections: MOST_AT_ONCE, pipelining: 1 });
  const connection = { clock, url, dispatcher, signal: stopping.signal };
  /** By question. */
  const kept = new LRUCache<string, ProviderAnswer>({ max: MOST_KEPT });
  const underWay = new Map<string, Promise<ProviderAnswer | null>>();
  const turns = pLimit(MOST_AT_ONCE);
  let failures = 0;
  let openUntil = 0;
  /** The day on which the log said that there are no more questions. */
  let spentOn = '';
  let generation = 0;

  async function askNow(key: string, question: Question): Promise<ProviderAnswer | null> {
    if (clock.now() < openUntil || stopping.signal.aborted) return null;
    // While one question tries whether it answers again, others go without.
    if (failures >= FAILURES_TO_OPEN) openUntil = clock.now() + OPEN_MS;
    const asked = generation;
    try {
      if (!(await hasRoom())) return null;
      const answer = { facts: await askOnce(connection, question), at: clock.now() };
      failures = 0;
      openUntil = 0;
      if (asked === generation) kept.set(key, answer);
      return answer;
    } catch (error) {
      fail(error);
      return null;
    }
  }

  async function hasRoom(): Promise<boolean> {
    const day = toIso(clock.now()).slice(0, 10);
    if (await store.countEnrichment(day, dailyLimit)) return true;
    if (spentOn !== day)
      log.warn({ limit: dailyLimit }, 'the enrichment provider is not asked any more today');
    spentOn = day;
    return false;
  }

  function fail(error: unknown): void {
    if (stopping.signal.aborted) return;
    failures++;
    const now = clock.now();
    const asked = error instanceof ProviderFault ? error.until : 0;
    const opens = failures >= FAILURES_TO_OPEN ? now + OPEN_MS : 0;
    openUntil = Math.min(Math.max(asked, opens), now + MOST_OPEN_MS);
    if (openUntil <= now) return;
    const reason = error instanceof ProviderFault ? error.message : 'storage';
    const fields = { reason, pause_ms: openUntil - now };
    log.warn(fields, 'the enrichment provider fails; it is left alone for a while');
  }

  return {
    ask(question) {
      const key = JSON.stringify(question);
      const known = kept.get(key);
      if (known !== undefined && clock.now() - known.at < KEPT_MS) return Promise.resolve(known);
      const before = underWay.get(key);
      if (before !== undefined) return before;
      const asking = turns(() => askNow(key, question)).finally(() => underWay.delete(key));
      underWay.set(key, asking);
      return asking;
    },
    forget() {
      generation++;
      kept.clear();
    },
    async close() {
      stopping.abort();
      await Promise.allSettled(underWay.values());
      await dispatcher.destroy();
    },
  };
}
