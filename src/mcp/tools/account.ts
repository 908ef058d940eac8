import { z } from 'zod';
import { getCompany as findCompany, readCompanyDetail } from '../../companies/companies.ts';
import { DAY_MS, toIso } from '../../lib/clock.ts';
import { excerpt } from '../../lib/text.ts';
import { campaignSchema } from '../../model/campaign.ts';
import { companyDetailSchema, companySchema } from '../../model/company.ts';
import { type IcpProfile, icpResource, icpSchema } from '../../model/icp.ts';
import type { Signal } from '../../model/signal.ts';
import { sourceResource, sourceSchema } from '../../model/source.ts';
import { MAX_URL_CHARS } from '../../model/text.ts';
import { findProfile } from '../../signals/profiles.ts';
import {
  countFitting,
  defineTool,
  listedInput,
  listedOutput,
  listRows,
  type McpCall,
  type SignalSummary,
  signalSummarySchema,
  UNTRUSTED_NOTE,
} from '../tool.ts';

const CONTACTS = 10;
const DIGEST_SIGNALS = 20;
const TEXT_CHARS = 300;
const PHRASES = 20;

/** A signal without the reasons of its score, which are not always available. */
const briefSignalSchema = signalSummarySchema.omit({
  why: true,
  author: true,
  icp_profile_name: true,
  lead_id: true,
});
type BriefSignal = z.output<typeof briefSignalSchema>;

function briefSignal(signal: Signal): BriefSignal {
  const { signal_id, classification, icp_score, timestamp, platform, company } = signal;
  const brief: Omit<SignalSummary, 'why' | 'author' | 'icp_profile_name' | 'lead_id'> = {
    ...{ signal_id, classification, icp_score, timestamp },
    platform: platform.name,
    url: platform.post_url,
    company: [company.name, company.domain].filter((name) => name !== '').join(', '),
    untrusted_text: excerpt(signal.excerpt, TEXT_CHARS),
  };
  return brief;
}

/** `get_company` */
export const getCompany = defineTool({
  name: 'get_company',
  title: 'Get a company',
  description: `A company by id or domain: facts, signal counts, best signals of 90 days, known people. ${UNTRUSTED_NOTE}`,
  scope: 'companies:read',
  input: z.strictObject({
    company: z.string().min(1).max(MAX_URL_CHARS).describe('Id (cmp_…) or domain'),
  }),
  output: z.object({
    ...companySchema.pick({
      id: true,
      domain: true,
      name: true,
      industry: true,
      headcount: true,
      location: true,
      description: true,
    }).shape,
    signal_counts: z.object(companySchema.shape.signal_counts.shape),
    top_signals: z.array(briefSignalSchema),
    contacts: z.array(z.object(companyDetailSchema.shape.contacts.element.shape)),
    truncated: listedOutput.truncated.describe('People were omitted'),
  }),
  async handle({ deps, tenantId }, { company: named }) {
    const company = await findCompany(deps.store, tenantId, named);
    const { resource, signals, contacts } = await readCompanyDetail(deps, tenantId, company);
    const { id, domain, name, industry, headcount, location, description, signal_counts } = resource;
    const detail = {
      ...{ id, domain, name, industry, headcount, location, description, signal_counts },
      top_signals: signals.map((wire) => briefSignal(JSON.parse(wire))),
    };
    const shown = contacts.slice(0, countFitting([detail, ...contacts.slice(0, CONTACTS)]) - 1);
    return { ...detail, contacts: shown, truncated: shown.length < contacts.length };
  },
});

const shownProfileSchema = z.object({
  ...icpSchema.pick({ id: true, name: true, offer: true, active: true, phrases: true }).shape,
  thresholds: z.object(icpSchema.shape.thresholds.shape),
});

/** `list_profiles` */
export const listProfiles = defineTool({
  name: 'list_profiles',
  title: 'List profiles',
  description: `Ideal customer profiles: offer, up to ${PHRASES} phrases, and the scores from which signals are hot or warm.`,
  scope: 'icps:read',
  input: z.strictObject(listedInput),
  output: z.object({ profiles: z.array(shownProfileSchema), ...listedOutput }),
  async handle(call, { limit, cursor }) {
    const { rows, ...rest } = await listRows(call, {
      ...{ name: 'profiles', bound: null, limit, cursor },
      async read(place) {
        const page = await call.deps.store.pageProfiles(call.tenantId, place);
        return { rows: page.rows.map(shownProfile), last: page.last };
      },
    });
    return { profiles: rows, ...rest };
  },
});

function shownProfile(profile: IcpProfile): z.output<typeof shownProfileSchema> {
  const { id, name, offer, active, phrases, thresholds } = icpResource(profile);
  return { id, name, offer, active, phrases: phrases.slice(0, PHRASES), thresholds };
}

/** A profile as returned for its resource URI. @throws DomainError `NOT_FOUND` */
export async function readProfile({ deps, tenantId }: McpCall, id: string): Promise<object> {
  return icpResource(await findProfile(deps.store, tenantId, id));
}

const shownCampaignSchema = z.object({
  ...campaignSchema.pick({ id: true, name: true, channel: true, status: true }).shape,
  started_at: z.string().nullable(),
  status_changed_at: z.string(),
});

/** `list_campaigns` */
export const listCampaigns = defineTool({
  name: 'list_campaigns',
  title: 'List campaigns',
  description: 'Outreach campaigns and their status, newest first.',
  scope: 'campaigns:read',
  input: z.strictObject({ status: campaignSchema.shape.status.optional(), ...listedInput }),
  output: z.object({ campaigns: z.array(shownCampaignSchema), ...listedOutput }),
  async handle(call, { limit, cursor, status }) {
    const statuses = status === undefined ? [] : [status];
    const { rows, ...rest } = await listRows(call, {
      ...{ name: 'campaigns', bound: statuses, limit, cursor },
      async read(place) {
        const page = await call.deps.store.listCampaigns(call.tenantId, { ...place, statuses });
        return {
          rows: page.rows.map(({ id, name, settings, status: at, startedAt, statusChangedAt }) => ({
            ...{ id, name, channel: settings.channel, status: at },
            started_at: startedAt === null ? null : toIso(startedAt),
            status_changed_at: toIso(statusChangedAt),
          })),
          last: page.last,
        };
      },
    });
    return { campaigns: rows, ...rest };
  },
});

const shownSourceSchema = z.object({
  ...sourceSchema.pick({ id: true, kind: true, name: true, status: true, signals_made: true }).shape,
  last_success_at: z.string().nullable(),
  next_poll_at: z.string().nullable(),
  error: z.string().nullable().describe('Error of the last run; null if it succeeded'),
});

/** `list_sources` */
export const listSources = defineTool({
  name: 'list_sources',
  title: 'List sources',
  description: 'Sources that posts are read from, and their status.',
  scope: 'sources:read',
  input: z.strictObject(listedInput),
  output: z.object({ sources: z.array(shownSourceSchema), ...listedOutput }),
  async handle(call, { limit, cursor }) {
    const { rows, ...rest } = await listRows(call, {
      ...{ name: 'sources', bound: null, limit, cursor },
      async read(place) {
        const page = await call.deps.store.pageSources(call.tenantId, place);
        const shown = page.rows.map(sourceResource).map((source) => {
          const { id, kind, name, status, signals_made, last_success_at, next_poll_at, last_error } = source;
          const error = last_error && `${last_error.code}: ${excerpt(last_error.message, TEXT_CHARS)}`;
          return { id, kind, name, status, signals_made, last_success_at, next_poll_at, error };
        });
        return { rows: shown, last: page.last };
      },
    });
    return { sources: rows, ...rest };
  },
});

/** `get_digest` */
export const getDigest = defineTool({
  name: 'get_digest',
  title: 'Get a digest',
  description: `The best hot and warm signals of the last days, best first, at most ${DIGEST_SIGNALS}, and how many there were. ${UNTRUSTED_NOTE}`,
  scope: 'signals:read',
  input: z.strictObject({ days: z.int().min(1).max(7).default(1) }),
  output: z.object({
    from: z.string(),
    counts: z.object({ hot: z.int(), warm: z.int() }),
    signals: z.array(briefSignalSchema),
    truncated: listedOutput.truncated,
  }),
  async handle({ deps: { store, clock }, tenantId }, { days }) {
    const from = clock.now() - days * DAY_MS;
    const found = await store.findBest(tenantId, { after: 0, from, limit: DIGEST_SIGNALS });
    const signals = found.wires.map((wire) => briefSignal(JSON.parse(wire)));
    const fitting = countFitting(signals);
    return {
      from: toIso(from),
      counts: { hot: found.hot, warm: found.warm },
      signals: signals.slice(0, fitting),
      truncated: fitting < signals.length,
    };
  },
});
