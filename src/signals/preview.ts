import type { Clock } from '../lib/clock.ts';
import { createYielder } from '../lib/yielding.ts';
import { defaultProfile, type IcpProfile } from '../model/icp.ts';
import type { Preview, PreviewedPost, PreviewInput, Scored } from '../model/icp-draft.ts';
import type { Classification, Signal } from '../model/signal.ts';
import type { ProfileStore } from '../store/profile-store.ts';
import type { SignalStore, StoredPost } from '../store/signal-store.ts';
import type { Encoder, Encoding } from './encoder/encoder.ts';
import { addMeaning } from './meaning.ts';
import { originOf } from './origin.ts';
import { compilePhrases, type PhraseMatcher } from './phrases.ts';
import { draftProfile, findProfile } from './profiles.ts';
import { type CompiledProfile, classify, compileProfile, readPost, scorePost } from './score.ts';

/** A post that matched several profiles is several signals: how many are read for each post needed. */
const SIGNALS_A_POST = 3;

export interface PreviewParts {
  store: ProfileStore & SignalStore;
  clock: Clock;
  encoder?: Encoder | null;
}

/** Scores the newest stored posts with a draft. @throws DomainError `NOT_FOUND` (profile), `INVALID_REQUEST`, `UNAVAILABLE` */
export async function previewProfile(
  { store, clock, encoder = null }: PreviewParts,
  tenantId: string,
  { icp_profile_id: baseId, limit, ...patch }: PreviewInput,
): Promise<Preview> {
  const base =
    baseId === undefined
      ? { ...defaultProfile('', tenantId, clock.now()), name: 'Draft' }
      : await findProfile(store, tenantId, baseId);
  const draft = compileDraft(draftProfile(base, patch));
  const signals = await store.listPosts(tenantId, limit * SIGNALS_A_POST);
  const chosen = onePerPost(signals, baseId ?? null).slice(0, limit);

  const posts: PreviewedPost[] = [];
  const nextTurn = createYielder(clock);
  const encoding = encoder?.begin({ owner: tenantId, kind: 'single' }) ?? null;
  try {
    encoding?.expect(chosen.length);
    for (const signal of chosen) {
      posts.push(await previewPost(signal, draft, encoding));
      await nextTurn();
    }
  } finally {
    encoding?.end();
  }
  return { posts, counts: countsOf(posts) };
}

interface Draft {
  compiled: CompiledProfile;
  matcher: PhraseMatcher;
}

function compileDraft(profile: IcpProfile): Draft {
  const compiled = compileProfile(profile);
  return { compiled, matcher: compilePhrases([compiled.phrases]) };
}

/** Of each post's signals the one of the profile that is changed, else the best; in the order of the newest. */
function onePerPost(signals: readonly StoredPost[], baseId: IcpProfile['id'] | null): StoredPost[] {
  const chosen = new Map<string, StoredPost>();
  for (const signal of signals) {
    const key = postKey(signal);
    const known = chosen.get(key);
    if (known === undefined || isBetter(signal, known, baseId)) chosen.set(key, signal);
  }
  return [...chosen.values()];
}

function isBetter(signal: StoredPost, known: StoredPost, baseId: string | null): boolean {
  if (known.profileId === baseId) return false;
  return signal.profileId === baseId || signal.score > known.score;
}

/** A post with neither id nor address is identified by its text. */
export function postKey({ platform, externalId, canonicalUrl, text }: StoredPost): string {
  return JSON.stringify([platform, externalId ?? canonicalUrl ?? text]);
}

/** The age of a post is that at which it was found: else each draft would be colder than what is stored. */
async function previewPost(
  { id, score, classification, wire, text, relevant }: StoredPost,
  { compiled, matcher }: Draft,
  encoder: Encoding | null,
): Promise<PreviewedPost> {
  const { excerpt, prospect, company, platform, timestamp, signal_type: type } = JSON.parse(wire) as Signal;
  const ageMs = platform.posted_at === '' ? null : Date.parse(timestamp) - Date.parse(platform.posted_at);
  const { name: companyName, industry, headcount, location } = company;
  const origin = originOf(prospect, platform);
  const facts = {
    text,
    type,
    ageMs,
    origin,
    title: prospect.title,
    companyName,
    industry,
    headcount,
    location,
  };
  const words = readPost(facts, encoder !== null);
  const hits = matcher.match(words.tokens).get(0) ?? [];
  const reading = await addMeaning(words, [{ compiled, hits }], { encoder });
  const explanation = scorePost(reading, compiled, hits);
  const next = classify(explanation.score, compiled.profile.thresholds);
  return {
    signal_id: id,
    excerpt,
    old: { score, classification: classification as Classification },
    new: { score: explanation.score, classification: next },
    explanation,
    relevant,
  };
}

function countsOf(posts: readonly PreviewedPost[]): Preview['counts'] {
  const count = (test: (post: PreviewedPost) => boolean) => posts.filter(test).length;
  const classes = (of: (post: PreviewedPost) => Scored) => ({
    hot: count((post) => of(post).classification === 'hot'),
    warm: count((post) => of(post).classification === 'warm'),
    cold: count((post) => of(post).classification === 'cold'),
  });
  return {
    posts: posts.length,
    old: classes((post) => post.old),
    new: classes((post) => post.new),
    up: count((post) => post.new.score > post.old.score),
    down: count((post) => post.new.score < post.old.score),
    unchanged: count((post) => post.new.score === post.old.score),
  };
}
