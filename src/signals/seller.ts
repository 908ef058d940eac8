import type { Company } from '../model/company.ts';
import type { IcpDraft } from '../model/icp-draft.ts';
import type { CompanyStore } from '../store/company-store.ts';
import { draftFromOffer } from './draft.ts';
import type { Encoder } from './encoder/encoder.ts';
import { type KnownOffer, nearestOffers } from './known-offers.ts';

/** Offers that are less like each other are of different kinds. */
const SAME_KIND = 0.55;
const MOST_KINDS = 2;

/**
 * Drafts a profile from what is sold, in a sentence, and what is known of the company at `domain`. Nothing is stored.
 * @throws DomainError `UNAVAILABLE` where the encoder's thread broke
 */
export async function draftForSeller(
  { store, encoder = null }: { store: CompanyStore; encoder?: Encoder | null },
  tenantId: string,
  { offer, domain }: { offer: string; domain?: string | undefined },
): Promise<IcpDraft> {
  const [company, near] = await Promise.all([
    domain === undefined ? null : store.findCompany(tenantId, { domain }),
    encoder === null ? [] : kindsOf(offer, encoder),
  ]);
  return draftFromOffer(offer, company === null ? null : { name: nameOf(company.facts) }, near);
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
