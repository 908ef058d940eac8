import { z } from 'zod';
import { pagingQuery, wholeNumber } from '../http/paging.ts';
import { fromIso } from '../lib/clock.ts';
import { classificationSchema, type SignalQuery, signalTypeSchema } from '../model/signal.ts';

/** A filter given several times, as a comma list, or both. */
function listOf<T extends z.ZodType<unknown, string>>(item: T) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform((given) => [given].flat().flatMap(splitList))
    .pipe(z.array(item).max(50))
    .default([]);
}

const time = z.iso.datetime({ offset: true }).transform(fromIso).nullable().default(null);

/** Query of `GET /v1/signals`. */
export const signalQuerySchema = z.strictObject({
  platform: listOf(z.string().toLowerCase()),
  icp: listOf(z.string()).describe('Profile ids or names'),
  from: time.describe('From this time on'),
  to: time.describe('Before this time'),
  signal_type: listOf(signalTypeSchema),
  classification: listOf(classificationSchema),
  min_score: wholeNumber(0, 100).nullable().default(null),
  company_domain: listOf(z.string().toLowerCase()),
  sort: z.enum(['-timestamp', 'timestamp', '-icp_score']).default('-timestamp'),
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
      sort: query.sort,
    },
    rest: { limit: query.limit, explain: query.include === 'explanation' },
  };
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
