import type { Clock } from '../lib/clock.ts';
import { createYielder } from '../lib/yielding.ts';
import { SAMPLE_PLATFORM } from '../model/constants.ts';
import { defaultProfile } from '../model/icp.ts';
import type { DraftReview, IcpDraft } from '../model/icp-draft.ts';
import type { Signal } from '../model/signal.ts';
import type { SignalStore } from '../store/signal-store.ts';
import { questionAbout } from './draft/line.ts';
import { compilePhrases, readPhrases } from './phrases.ts';
import { postKey } from './preview.ts';
import { tokenize } from './tokens.ts';

/** Signals that are read: as many as for a preview of the largest number of posts. */
const MOST_SIGNALS = 600;
const EXAMPLES = 2;

/** What a draft would bring of the newest stored posts, what to ask back, and what it lacks. Works in short pieces. */
export async function reviewDraft(
  { store, clock }: { store: Pick<SignalStore, 'listPosts'>; clock: Clock },
  tenantId: string,
  draft: IcpDraft,
): Promise<DraftReview> {
  const phrases = draft.phrases.map((phrase) => ({
    phrase,
    posts: 0,
    examples: [] as DraftReview['phrases'][number]['examples'],
  }));
  const looked = readPhrases({ ...defaultProfile('', tenantId, 0), phrases: draft.phrases });
  const matcher = compilePhrases([looked]);
  const nextTurn = createYielder(clock);
  const met = new Set<string>();
  for (const post of await store.listPosts(tenantId, MOST_SIGNALS)) {
    const key = postKey(post);
    if (post.platform === SAMPLE_PLATFORM || met.has(key)) continue;
    met.add(key);
    const hits = matcher.match(tokenize(post.text)).get(0) ?? [];
    for (const at of new Set(hits.filter(({ kind }) => kind === 'phrase').map(({ phrase }) => phrase))) {
      const found = phrases[at];
      if (found === undefined) continue;
      found.posts++;
      if (found.examples.length < EXAMPLES) {
        const { excerpt } = JSON.parse(post.wire) as Signal;
        found.examples.push({ signal_id: post.id, excerpt });
      }
    }
    await nextTurn();
  }
  return { posts_searched: met.size, phrases, question: questionAbout(draft.offer), notes: notesOn(draft) };
}

function notesOn({ phrases, competitors, titles }: IcpDraft): string[] {
  const notes: string[] = [];
  if (competitors.length === 0) {
    notes.push('We know no competitor of yours. Add the names that buyers compare you with.');
  }
  if (phrases.length === 0) {
    notes.push('We know no phrase that buyers use for this. Add the words they would write in a post.');
  }
  if (titles.length === 0) notes.push('We do not know who buys this. Add job titles, or leave them empty.');
  return notes;
}
