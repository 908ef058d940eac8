import type { Clock } from '../lib/clock.ts';
import { createYielder } from '../lib/yielding.ts';
import type { Company } from '../model/company.ts';
import { SAMPLE_PLATFORM } from '../model/constants.ts';
import { invalidAt } from '../model/errors.ts';
import { defaultProfile } from '../model/icp.ts';
import type { DraftReview, IcpDraft } from '../model/icp-draft.ts';
import type { Signal } from '../model/signal.ts';
import type { CompanyStore } from '../store/company-store.ts';
import type { SignalStore } from '../store/signal-store.ts';
import { namesNothing, questionAbout } from './draft/line.ts';
import { draftFromOffer, isEmptyWord } from './draft.ts';
import type { Encoder } from './encoder/encoder.ts';
import { type KnownOffer, nearestOffers } from './known-offers.ts';
import { compilePhrases, readPhrases } from './phrases.ts';
import { postKey } from './preview.ts';
import { tokenize } from './tokens.ts';

/** Offers that are less like each other are of different kinds. */
const SAME_KIND = 0.55;
const MOST_KINDS = 2;

interface DraftParts {
  store: CompanyStore & Pick<SignalStore, 'listPosts'>;
  clock: Clock;
  encoder?: Encoder | null;
}

/**
 * Drafts a profile from what is sold, in a sentence, and what is known of the company at `domain`, with what a person should
 * know before it is used. Nothing is stored.
 * @throws DomainError `INVALID_REQUEST` where the line names nothing that could be sold, `UNAVAILABLE` where the encoder broke
 */
export async function draftForSeller(
  { store, clock, encoder = null }: DraftParts,
  tenantId: string,
  { offer, domain }: { offer: string; domain?: string | undefined },
): Promise<{ draft: IcpDraft; review: DraftReview }> {
  if (namesNothing(offer, isEmptyWord)) {
    throw invalidAt(
      '/offer',
      'That line names nothing we could look for. Say what you sell and to whom, such as "Scheduling software for heating engineers".',
    );
  }
  const [company, near] = await Promise.all([
    domain === undefined ? null : store.findCompany(tenantId, { domain }),
    encoder === null ? [] : kindsOf(offer, encoder),
  ]);
  const draft = draftFromOffer(offer, company === null ? null : { name: nameOf(company.facts) }, near);
  return { draft, review: await reviewDraft({ store, clock }, tenantId, draft) };
}

/** Known offers that mean the same. */
export async function kindsOf(offer: string, encoder: Pick<Encoder, 'encode'>): Promise<KnownOffer[]> {
  const near = await nearestOffers(offer, encoder, MOST_KINDS);
  return near.filter(({ likeness }) => likeness >= SAME_KIND).map(({ known }) => known);
}

/** The name in force: what a person set counts before what was seen. */
function nameOf({ manual, observed }: Company['facts']): string {
  return manual.name?.value ?? observed.name?.value ?? '';
}

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
    notes.push('We don’t know any competitors of yours. Add the names buyers compare you with.');
  }
  if (phrases.length === 0) {
    notes.push(
      'We don’t know any phrases that buyers use for this. Add the words they would write in a post.',
    );
  }
  if (titles.length === 0) notes.push('We don’t know who buys this. Add job titles, or leave them empty.');
  return notes;
}
