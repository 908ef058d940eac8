import { z } from 'zod';
import { DAY_MS, fromIso, toIso } from '../../lib/clock.ts';
import { parseRows } from '../../lib/json.ts';
import { excerpt } from '../../lib/text.ts';
import { DomainError } from '../../model/errors.ts';
import {
  type ExplainedSignal,
  type Explanation,
  feedbackInputSchema,
  feedbackSchema,
  type Signal,
  signalSchema,
  signalTypeSchema,
} from '../../model/signal.ts';
import { domainFilter, idInput, timeText } from '../../model/text.ts';
import { giveFeedback } from '../../signals/feedback.ts';
import {
  defineTool,
  listedInput,
  listedOutput,
  listRows,
  MAX_UNTRUSTED_CHARS,
  type McpCall,
  signalSummarySchema,
  summaryOfSignal,
  UNTRUSTED_NOTE,
} from '../tool.ts';

const MAX_QUOTES = 5;
const QUOTE_CHARS = 200;

const searchInput = z.strictObject({
  q: z.string().trim().min(1).max(500).optional().describe('Words that must all occur'),
  classification: z.enum(['hot', 'warm', 'cold']).optional(),
  signal_type: signalTypeSchema.optional(),
  profile: z.string().min(1).max(100).optional().describe('Id or name of a profile'),
  since: z
    .union([z.string().regex(/^\d{1,3}d$/), timeText])
    .optional()
    .describe('Detected since: "7d", or an RFC 3339 time'),
  min_score: z.int().min(0).max(100).optional(),
  company_domain: domainFilter.optional(),
  sort: z.enum(['newest', 'score']).default('newest'),
  ...listedInput,
});

/** `search_signals`: detected signals, with the reasons of their scores. */
export const searchSignals = defineTool({
  name: 'search_signals',
  title: 'Search signals',
  description: `Buying signals found in posts, with their score (0-100) and why. For this week's hot signals: classification "hot", since "7d". ${UNTRUSTED_NOTE}`,
  scope: 'signals:read',
  input: searchInput,
  output: z.object({ signals: z.array(signalSummarySchema), ...listedOutput }),
  async handle(call, { limit, cursor, ...filters }) {
    const { rows, ...rest } = await listRows(call, {
      ...{ name: 'signals', bound: filters, limit, cursor },
      read: (place) => readSignals(call, { ...place, filters }),
    });
    return { signals: rows, ...rest };
  },
});

type Filters = Omit<z.output<typeof searchInput>, 'limit' | 'cursor'>;

async function readSignals(
  { deps: { store, clock }, tenantId }: McpCall,
  { filters, ...place }: { filters: Filters; limit: number; after: (string | number)[] | null },
) {
  const { json, last } = await store.listSignals(tenantId, {
    ...place,
    platforms: [],
    icps: listed(filters.profile),
    from: filters.since === undefined ? null : sinceMs(filters.since, clock.now()),
    to: null,
    signalTypes: listed(filters.signal_type),
    classifications: listed(filters.classification),
    minScore: filters.min_score ?? null,
    companyDomains: listed(filters.company_domain),
    q: filters.q ?? null,
    sort: filters.sort === 'score' ? '-icp_score' : '-timestamp',
    explain: true,
  });
  return { rows: parseRows<ExplainedSignal>(json).map(summaryOfSignal), last };
}

function listed<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}

function sinceMs(since: string, now: number): number {
  return since.endsWith('d') ? now - Number.parseInt(since, 10) * DAY_MS : fromIso(since);
}

const signalDetail = z.object({
  ...signalSummarySchema.omit({ untrusted_text: true }).shape,
  signal_type: signalTypeSchema,
  prospect: z.object(signalSchema.shape.prospect.shape),
  company_facts: z.object(signalSchema.shape.company.shape),
  posted_at: z.string(),
  coverage: z.number().describe("Share of the profile's criteria that could be checked"),
  untrusted_quotes: z.array(z.string()).describe('Quotes that the points are based on'),
  untrusted_text: z.string(),
});

/** `get_signal`: a signal with its text and the evidence for its score. */
export const getSignal = defineTool({
  name: 'get_signal',
  title: 'Get a signal',
  description: `One signal: people, company, reasons of the score, and up to ${MAX_UNTRUSTED_CHARS} characters of the post. ${UNTRUSTED_NOTE} The same holds for untrusted_quotes.`,
  scope: 'signals:read',
  input: z.strictObject({ signal_id: idInput }),
  output: signalDetail,
  handle: readSignal,
});

/** @throws DomainError `NOT_FOUND` */
export async function readSignal(
  { deps: { store }, tenantId }: McpCall,
  { signal_id: id }: { signal_id: string },
): Promise<z.output<typeof signalDetail>> {
  const found = await store.getSignal(tenantId, id);
  if (found === null) throw new DomainError('NOT_FOUND', `There is no signal "${id}".`);
  const signal: Signal = JSON.parse(found.wire);
  const explanation: Explanation = JSON.parse(found.explanation);
  const quotes = [...explanation.factors, ...explanation.negatives].flatMap(({ evidence }) =>
    evidence.map(({ text }) => excerpt(text, QUOTE_CHARS)),
  );
  return {
    ...summaryOfSignal({ ...signal, explanation }),
    signal_type: signal.signal_type,
    prospect: signal.prospect,
    company_facts: signal.company,
    posted_at: signal.platform.posted_at,
    coverage: explanation.coverage,
    untrusted_quotes: [...new Set(quotes)].slice(0, MAX_QUOTES),
    untrusted_text: excerpt(found.text, MAX_UNTRUSTED_CHARS),
  };
}

/** `rate_signal`: feedback that profiles learn from. */
export const rateSignal = defineTool({
  name: 'rate_signal',
  title: 'Rate a signal',
  description:
    'Rates a signal as relevant or not. Suggestions for its profile are based on ratings; the last one counts.',
  scope: 'signals:write',
  writes: { again: true },
  input: z.strictObject({ signal_id: idInput, ...feedbackInputSchema.shape }),
  output: z.object({ ...feedbackSchema.shape, created_at: z.string() }),
  async handle({ deps, caller: { tenant, key } }, { signal_id: signalId, relevant, reason }) {
    const by = { tenantId: tenant.id, actorId: key.id };
    const { createdAt } = await giveFeedback(deps, by, { signalId, relevant, reason });
    return { signal_id: signalId, relevant, reason, created_at: toIso(createdAt) };
  },
});
