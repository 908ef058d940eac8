import type { Company } from '../model/company.ts';
import type { IcpDraft } from '../model/icp-draft.ts';
import type { CompanyStore } from '../store/company-store.ts';
import { draftFromOffer } from './draft.ts';

/** Drafts a profile from what is sold, in a sentence, and what is known of the company at `domain`. Nothing is stored. */
export async function draftForSeller(
  store: CompanyStore,
  tenantId: string,
  { offer, domain }: { offer: string; domain?: string | undefined },
): Promise<IcpDraft> {
  const company = domain === undefined ? null : await store.findCompany(tenantId, { domain });
  return draftFromOffer(offer, company === null ? null : { name: nameOf(company.facts) });
}

/** The name in force: what a person set counts before what was seen. */
function nameOf({ manual, observed }: Company['facts']): string {
  return manual.name?.value ?? observed.name?.value ?? '';
}
