import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { Clock } from '../lib/clock.ts';
import { createYielder, inTurns, onBehalfOf, standInLine } from '../lib/yielding.ts';
import type { IcpProfile } from '../model/icp.ts';
import type { DueLesson } from '../store/profile-store.ts';
import type { Judgement } from '../store/signal-store.ts';
import type { Store } from '../store/store.ts';
import type { Encoder, Encoding } from './encoder/encoder.ts';
import { scoreOf } from './judge.ts';
import { type Judged, LEAST_JUDGED, learn, lessonOdds, MOST_JUDGED, type SavedLesson } from './lesson.ts';
import { readMeaning } from './meaning.ts';
import { compilePhrases, type PhraseMatcher } from './phrases.ts';
import { type CompiledProfile, compileProfile, MODEL_VERSION, oddsFor, readPost } from './score.ts';
import { judgedPostOf } from './suggest-changes.ts';

/** Dependencies of the learner. */
export interface LearnerDeps {
  store: Pick<
    Store,
    'listDueLessons' | 'renewLessons' | 'saveLesson' | 'getProfile' | 'listJudgements' | 'getSignal'
  >;
  clock: Clock;
  encoder: Encoder;
}

/** Maximum number of judged posts whose vectors are cached, 1.5 KB each. */
const MAX_KEPT = 2_000;
/** Tenants whose profiles learn at once, one of each at a time: a lesson from a hundred long posts takes ten seconds. */
const TENANTS_AT_ONCE = 8;
/** After that, no further lesson is begun: those that became due meanwhile have their turn first. */
const RUN_MS = 5_000;
const MOST_LISTED = 1_000;
/** Delay before a profile whose lesson failed is tried again. */
const RETRY_MS = 60_000;

/** Turns feedback into lessons. */
export interface Learner {
  /**
   * Updates the lesson of every profile whose feedback or offer has changed since; the store keeps track of
   * them. @throws an error of a lesson, after those of other tenants
   */
  run(isStopping?: () => boolean): Promise<void>;
}

export function createLearner({ store, clock, encoder }: LearnerDeps): Learner {
  /** By profile, its version and signal. A post that was not compared with the offer has no vector. */
  const kept = new LRUCache<string, Omit<Judged, 'relevant'> | 'not held'>({ max: MAX_KEPT });
  const failedAt = new Map<string, number>();
  /** When each tenant had its last turn, as a number that increases. */
  const turns = new LRUCache<string, number>({ max: MAX_KEPT });
  let lastTurn = 0;

  async function judgedOf(
    profile: IcpProfile,
    judgements: readonly Judgement[],
    { encoding, nextTurn }: { encoding: Encoding; nextTurn: () => Promise<void> },
  ): Promise<Judged[]> {
    /** Compiled for the first post that is not cached. */
    let own: { compiled: CompiledProfile; matcher: PhraseMatcher } | undefined;
    const judged: Judged[] = [];
    for (const judgement of judgements) {
      const key = `${profile.id} ${profile.version} ${judgement.signalId}`;
      let known = kept.get(key);
      if (known === undefined) {
        const signal = await store.getSignal(profile.tenantId, judgement.signalId);
        own ??= {
          compiled: await inTurns(compileProfile(profile)),
          matcher: await inTurns(compilePhrases([profile])),
        };
        const { compiled, matcher } = own;
        const { offer } = compiled;
        if (signal === null || offer === null) continue;
        const words = readPost(judgedPostOf(judgement, signal).post, true);
        const hits = matcher.match(words.tokens).get(0) ?? [];
        await nextTurn();
        const reading = await readMeaning(words, [offer], { encoder: encoding, nextTurn });
        const numbers = reading.matches.get(offer)?.post;
        known = numbers ? { numbers, odds: oddsFor(reading, compiled, hits).warm } : 'not held';
        await nextTurn();
      }
      kept.set(key, known);
      if (known !== 'not held') judged.push({ ...known, relevant: judgement.relevant });
    }
    return judged;
  }

  async function lessonOf({ tenantId, profileId: id }: DueLesson): Promise<string | null> {
    // Those of other tenants begin at the same time.
    await standInLine();
    const profile = await store.getProfile(tenantId, id);
    if (profile === null || profile.offer === '') return null;
    await standInLine();
    const judgements = await store.listJudgements(tenantId, id, MOST_JUDGED);
    if (judgements.length < LEAST_JUDGED) return null;
    const encoding = encoder.begin({ owner: tenantId, kind: 'source' });
    try {
      const nextTurn = createYielder(clock);
      const judged = await judgedOf(profile, judgements, { encoding, nextTurn });
      if (judged.length < LEAST_JUDGED) return null;
      const lesson = await learn(judged, nextTurn);
      const shown = (oddsOf: (one: Judged) => number) =>
        counted(judged.filter((one) => scoreOf({ hot: -9, warm: oddsOf(one) }) >= profile.thresholds.warm));
      const direction = Buffer.alloc(lesson.direction.length * 4);
      for (const [i, value] of lesson.direction.entries()) direction.writeFloatLE(value, 4 * i);
      const saved: SavedLesson = {
        model: MODEL_VERSION,
        judged: judged.length,
        relevant: judged.filter(({ relevant }) => relevant).length,
        before: shown(({ odds }) => odds),
        after: shown(({ odds, numbers }) => odds + lessonOdds(lesson, numbers)),
        direction: direction.toString('base64'),
        shift: lesson.shift,
      };
      return JSON.stringify(saved);
    } finally {
      encoding.end();
    }
  }

  async function learnOne(due: DueLesson): Promise<void> {
    const { tenantId, profileId, asked } = due;
    if (clock.now() - (failedAt.get(profileId) ?? Number.NEGATIVE_INFINITY) < RETRY_MS) return;
    failedAt.delete(profileId);
    try {
      const lesson = await onBehalfOf(tenantId, () => lessonOf(due));
      await store.saveLesson({ tenantId, profileId, asked, lesson });
    } catch (error) {
      failedAt.set(profileId, clock.now());
      throw error;
    }
  }

  let isRenewed = false;
  return {
    async run(isStopping = () => false) {
      // Vectors of another model are not comparable with those of this one.
      if (!isRenewed) await store.renewLessons(MODEL_VERSION);
      isRenewed = true;
      const until = clock.monotonic() + RUN_MS;
      const due = Map.groupBy(await store.listDueLessons(MOST_LISTED), ({ tenantId }) => tenantId);
      const turnOf = (tenantId: string) => turns.peek(tenantId) ?? 0;
      const limit = pLimit(TENANTS_AT_ONCE);
      const learnAll = async (tenantId: string) => {
        for (const lesson of due.get(tenantId) ?? []) {
          if (isStopping() || clock.monotonic() > until) return;
          turns.set(tenantId, ++lastTurn);
          await learnOne(lesson);
        }
      };
      const tenants = [...due.keys()].sort((a, b) => turnOf(a) - turnOf(b));
      const ended = await Promise.allSettled(tenants.map((tenantId) => limit(learnAll, tenantId)));
      const failed = ended.find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
    },
  };
}

function counted(judged: readonly Judged[]): { relevant: number; not_relevant: number } {
  const relevant = judged.filter((one) => one.relevant).length;
  return { relevant, not_relevant: judged.length - relevant };
}
