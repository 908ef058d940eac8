import { invalidAt } from '../model/errors.ts';
import type { Lead } from '../model/lead.ts';
import { MAX_CUSTOM_FIELDS, MAX_TAGS } from '../model/lead.ts';
import { type Fact, fillFacts } from './facts.ts';

/** What a request brings to a lead, known or new. */
export interface Incoming {
  source: string;
  facts: readonly Fact[];
  tags: readonly string[];
  customFields: Readonly<Record<string, string | number | boolean | null>>;
}

/**
 * The lead with what it did not know. Never overwrites what is filled: facts, source and custom fields that are
 * there stay, and tags are united. Merging the same again changes nothing.
 * @throws DomainError `INVALID_REQUEST` where a lead would have too many tags or custom fields
 */
export function mergeInto(lead: Lead, { source, facts, tags, customFields }: Incoming, at: number): Lead {
  const filled = fillFacts(lead, facts, at);
  return {
    ...filled,
    source: lead.source === '' ? source : lead.source,
    tags: boundTags(uniteTags(lead.tags, tags)),
    custom_fields: boundCustomFields({ ...withoutNull(customFields), ...lead.custom_fields }),
  };
}

/** Tags of both, in the spelling of the first that has one; case makes no difference. */
export function uniteTags(first: readonly string[], second: readonly string[]): string[] {
  const byKey = new Map<string, string>();
  for (const tag of [...first, ...second]) {
    if (!byKey.has(tag.toLowerCase())) byKey.set(tag.toLowerCase(), tag);
  }
  return [...byKey.values()];
}

/** @throws DomainError `INVALID_REQUEST` */
export function boundTags(tags: string[]): string[] {
  if (tags.length <= MAX_TAGS) return tags;
  throw invalidAt('/tags', `A lead has at most ${MAX_TAGS} tags; with these it would have ${tags.length}.`);
}

/** @throws DomainError `INVALID_REQUEST` */
export function boundCustomFields(fields: Lead['custom_fields']): Lead['custom_fields'] {
  const count = Object.keys(fields).length;
  if (count <= MAX_CUSTOM_FIELDS) return fields;
  const detail = `A lead has at most ${MAX_CUSTOM_FIELDS} custom fields; with these it would have ${count}.`;
  throw invalidAt('/custom_fields', detail);
}

function withoutNull(fields: Incoming['customFields']): Lead['custom_fields'] {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string | number | boolean] => entry[1] !== null),
  );
}
