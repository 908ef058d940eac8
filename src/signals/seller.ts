import type { Clock } from '../lib/clock.ts';
import type { Company } from '../model/company.ts';
import { invalidAt } from '../model/errors.ts';
import type { DraftReview, IcpDraft } from '../model/icp-draft.ts';
import type { CompanyStore } from '../store/company-store.ts';
import type { SignalStore } from '../store/signal-store.ts';
import { namesNothing } from './draft/line.ts';
import { draftFromOffer, isEmptyWord } from './draft.ts';
import { reviewDraft } from './draft-review.ts';
import type { Encoder } from './encoder/encoder.ts';
import { type KnownOffer, nearestOffers } from './known-offers.ts';

/** Offers that are less like each other are of different kinds. */
const SAME_KIND = 0.55;
const MOST_KINDS = 2;

export interface DraftParts {
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
