import { type Clock, DAY_MS, toIso } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { IcpQuality, Share } from '../model/icp-draft.ts';
import type { Judgement, SignalFeedback, SignalStore } from '../store/signal-store.ts';

/** Stores whether a signal was relevant; later feedback replaces earlier. @throws DomainError `NOT_FOUND` */
export async function giveFeedback(
  { store, clock }: { store: SignalStore; clock: Clock },
  { tenantId, actorId }: Pick<SignalFeedback, 'tenantId' | 'actorId'>,
  said: Pick<SignalFeedback, 'signalId' | 'relevant' | 'reason'>,
): Promise<SignalFeedback> {
  const feedback = { ...said, tenantId, actorId, createdAt: clock.now() };
  if (await store.saveFeedback(feedback)) return feedback;
  throw new DomainError('NOT_FOUND', `There is no signal "${said.signalId}".`);
}

type RelevanceRating = Pick<Judgement, 'classification' | 'relevant'>;

/** Standard deviations of a 95 % interval. */
const Z = 1.96;
const WEEK_MS = 7 * DAY_MS;

/** Precision of a profile's signals, overall and by class. */
export function qualityOf(profileId: string, posts: readonly RelevanceRating[]): IcpQuality {
  const of = (classification: string) =>
    shareOf(posts.filter((post) => post.classification === classification));
  return {
    icp_profile_id: profileId,
    ...shareOf(posts),
    by_classification: { hot: of('hot'), warm: of('warm'), cold: of('cold') },
  };
}

/** Precision of the judgements of one week, which starts on Monday, UTC. */
interface WeekShare extends Share {
  /** `2026-11-23` */
  from: string;
}

/** Precision of hot and warm signals by the week of their judgement, up to the current week. */
export function qualityByWeek(
  posts: readonly (RelevanceRating & Pick<Judgement, 'createdAt'>)[],
  { now, weeks }: { now: number; weeks: number },
): WeekShare[] {
  const thisWeek = mondayOf(now);
  const shown = posts.filter(({ classification }) => classification !== 'cold');
  return Array.from({ length: weeks }, (_, i) => {
    const from = thisWeek - (weeks - 1 - i) * WEEK_MS;
    const own = shown.filter(({ createdAt }) => mondayOf(createdAt) === from);
    return { from: toIso(from).slice(0, 10), ...shareOf(own) };
  });
}

/** The epoch was a Thursday. */
function mondayOf(moment: number): number {
  return Math.floor((moment - 4 * DAY_MS) / WEEK_MS) * WEEK_MS + 4 * DAY_MS;
}

function shareOf(posts: readonly RelevanceRating[]): Share {
  const relevant = posts.filter((post) => post.relevant).length;
  const judged = posts.length;
  if (judged === 0) return { judged, relevant, precision: null, interval: null };
  return { judged, relevant, precision: rounded(relevant / judged), interval: wilson(relevant, judged) };
}

/**
 * Wilson score interval (1927), which is also valid for few cases: for one relevant signal of one, it is 0.21
 * to 1.
 */
function wilson(right: number, all: number): { low: number; high: number } {
  const share = right / all;
  const middle = share + (Z * Z) / (2 * all);
  const reach = Z * Math.sqrt((share * (1 - share)) / all + (Z * Z) / (4 * all * all));
  const whole = 1 + (Z * Z) / all;
  return {
    low: rounded(Math.max(0, (middle - reach) / whole)),
    high: rounded(Math.min(1, (middle + reach) / whole)),
  };
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
