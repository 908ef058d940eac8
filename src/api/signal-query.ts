import { z } from 'zod';
import { pagingQuery, wholeNumber } from '../http/paging.ts';
import { listOf, queryTime, searchText } from '../http/query.ts';
import { domainFilter } from '../model/domain.ts';
import {
  classificationSchema,
  MAX_EXTERNAL_ID_CHARS,
  type SignalQuery,
  signalTypeSchema,
} from '../model/signal.ts';

const MAX_SEARCH_CHARS = 500;

/** Query of `GET /v1/signals`. */
export const signalQuerySchema = z.strictObject({
  platform: listOf(z.string().max(64).toLowerCase()),
  icp: listOf(z.string().max(100)).describe('Profile ids or names; a name that holds a comma by its id only'),
  from: queryTime.describe('From this time on'),
  to: queryTime.describe('Before this time'),
  signal_type: listOf(signalTypeSchema),
  classification: listOf(classificationSchema),
  min_score: wholeNumber(0, 100).nullable().default(null),
  company_domain: listOf(domainFilter),
  external_id: z
    .string()
    .min(1)
    .max(MAX_EXTERNAL_ID_CHARS)
    .optional()
    .describe("The post's id on its platform, exactly; a post has a signal for each profile it matches"),
  q: searchText(MAX_SEARCH_CHARS).describe(
    'Words that must all occur in text, people or company, in any case, with or without diacritics, in singular or plural; quoted words stand side by side',
  ),
  // No default here: whether it was given matters where `order` is.
  sort: z.enum(['-timestamp', 'timestamp', '-icp_score']).optional().meta({ default: '-timestamp' }),
  include: z.enum(['explanation']).optional(),
  ...pagingQuery,
});

/** What is asked of the store, but for the position in it; `filters` is what a cursor is bound to. */
export function toSignalQuery(query: z.output<typeof signalQuerySchema>): {
  filters: Omit<SignalQuery, 'limit' | 'after' | 'explain'>;
  rest: Pick<SignalQuery, 'limit' | 'explain'>;
} {
  return {
    filters: {
      platforms: query.platform,
      icps: query.icp,
      from: query.from,
      to: query.to,
      signalTypes: query.signal_type,
      classifications: query.classification,
      minScore: query.min_score,
      companyDomains: query.company_domain,
      // Only where it is given: cursors that were handed out before there was this filter go on.
      ...(query.external_id !== undefined && { externalId: query.external_id }),
      q: query.q,
      sort: query.sort ?? '-timestamp',
    },
    rest: { limit: query.limit, explain: query.include === 'explanation' },
  };
}
