import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { onceOver } from '../http/once-over.ts';
import { namesOf } from '../leads/lead-names.ts';
import { toIso } from '../lib/clock.ts';
import { parseInTurns, parseRows } from '../lib/json.ts';
import { standInLine } from '../lib/yielding.ts';
import { DomainError } from '../model/errors.ts';
import type { Page, PageRequest, Position } from '../model/filters.ts';
import { type Lead, leadFilters } from '../model/lead.ts';
import type { DashboardDeps } from './deps.ts';
import { filtersOf, queryOf } from './forms.ts';
import { memberOf } from './gate.ts';
import { plainAmount } from './leads.ts';
import { type SignalCard, signalCards } from './signal-card.ts';
import { inboxFilterOf } from './signals.ts';

/** Rows read at a time. */
const ROWS_AT_ONCE = 50;
/** Characters parsed or written per turn of the event loop: about 1 ms. Fifty leads with long fields took 33 ms. */
const CHARACTERS_AT_ONCE = 100_000;

/** Maximum number of an account's exports in progress. */
const MOST_EXPORTS = 8;
const RETRY_AFTER_SECONDS = 10;

const FORMATS = ['csv', 'ndjson'] as const;
type Format = (typeof FORMATS)[number];

const TYPES: Record<Format, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
};

type Cell = string | number | null;
type NamedLead = Lead & { called: string };

/**
 * Lists as files, with the filters of their screens: CSV for people, NDJSON with the resources of `/v1` for programs.
 */
export function addExports(app: FastifyInstance, deps: DashboardDeps): void {
  const { store, clock, baseUrl } = deps;
  const begin = createExportLimit();
  const send = (
    request: FastifyRequest,
    reply: FastifyReply,
    file: { name: string; format: Format; lines: AsyncIterable<string> },
  ) => {
    begin(memberOf(request).tenant.id, reply);
    return reply
      .type(TYPES[file.format])
      .header(
        'content-disposition',
        `attachment; filename="${file.name}-${toIso(clock.now()).slice(0, 10)}.${file.format}"`,
      )
      .send(Readable.from(file.lines));
  };

  for (const format of FORMATS) {
    // A HEAD request would read the whole list to determine its length.
    app.get(`/leads.${format}`, { exposeHeadRoute: false }, (request, reply) => {
      const { tenant } = memberOf(request);
      const { filters, filterFaults } = filtersOf(leadFilters, queryOf(request));
      refuse(filterFaults);
      const read = (place: PageRequest) => store.listLeads(tenant.id, { ...filters, ...place });
      const named = async (place: PageRequest) => {
        const { rows, last } = await read(place);
        const leads = await parseInTurns<Lead>(rows);
        const nameOf = await namesOf(store, leads);
        return { rows: leads.map((lead) => ({ ...lead, called: nameOf(lead) })), last };
      };
      const url = ({ id }: Lead) => `${baseUrl}/dashboard/leads/${id}`;
      const lines = format === 'csv' ? csvLines(named, { ...LEAD_COLUMNS, url }) : jsonLines(read, String);
      return send(request, reply, { name: 'leads', format, lines });
    });

    app.get(`/signals.${format}`, { exposeHeadRoute: false }, (request, reply) => {
      const { tenant, user } = memberOf(request);
      const me = { email: user.email, now: clock.now() };
      const { filter, filterFaults } = inboxFilterOf(queryOf(request), me);
      refuse(filterFaults);
      const explained = async (place: PageRequest) => {
        const { json, last } = await store.listSignals(tenant.id, { ...filter, ...place, explain: true });
        return { rows: signalCards(json), last };
      };
      const plain = async (place: PageRequest) => {
        const { json, last } = await store.listSignals(tenant.id, { ...filter, ...place, explain: false });
        return { rows: parseRows(json), last };
      };
      const lines = format === 'csv' ? csvLines(explained, SIGNAL_COLUMNS) : jsonLines(plain, JSON.stringify);
      return send(request, reply, { name: 'signals', format, lines });
    });
  }
}

/**
 * Counts the exports in progress of each account until they have been sent or their client has disconnected. One that is not read keeps 2 to 6 MB
 * until its connection is closed: 348 took 0.7 GB.
 * @throws DomainError `UNAVAILABLE` if there are too many
 */
function createExportLimit(): (tenantId: string, reply: FastifyReply) => void {
  const ofTenants = new Map<string, number>();
  return (tenantId, reply) => {
    const own = ofTenants.get(tenantId) ?? 0;
    if (own >= MOST_EXPORTS) throw tooMany(own);
    ofTenants.set(tenantId, own + 1);
    onceOver(reply.raw, () => {
      const left = (ofTenants.get(tenantId) ?? 1) - 1;
      if (left === 0) ofTenants.delete(tenantId);
      else ofTenants.set(tenantId, left);
    });
  };
}

function tooMany(own: number): DomainError {
  return new DomainError('UNAVAILABLE', `${own} exports of this account are already in progress.`, {
    hint: `Wait until one of them is complete, or ${RETRY_AFTER_SECONDS} seconds (Retry-After), then try again.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** Ignoring an invalid filter would export more than was requested. @throws DomainError */
function refuse(filterFaults: readonly string[]): void {
  if (filterFaults.length === 0) return;
  throw new DomainError('INVALID_REQUEST', `Nothing was exported: ${filterFaults.join(' ')}`);
}

type ReadPage<T> = (place: PageRequest) => Promise<Page<T>>;

/** The whole list, page by page. All exports take turns, so that other requests wait for one page at most. */
async function* pagesOf<T>(read: ReadPage<T>): AsyncGenerator<T[]> {
  let after: Position | null = null;
  do {
    await standInLine();
    const page: Page<T> = await read({ limit: ROWS_AT_ONCE, after });
    yield page.rows;
    after = page.last;
  } while (after !== null);
}

async function* linesOf<T>(rows: readonly T[], lineOf: (row: T) => string): AsyncGenerator<string> {
  let lines = '';
  for (const row of rows) {
    lines += lineOf(row);
    if (lines.length < CHARACTERS_AT_ONCE) continue;
    yield lines;
    lines = '';
    await standInLine();
  }
  if (lines !== '') yield lines;
}

async function* jsonLines<T>(read: ReadPage<T>, jsonOf: (row: T) => string): AsyncGenerator<string> {
  for await (const rows of pagesOf(read)) yield* linesOf(rows, (row) => jsonLine(jsonOf(row)));
}

async function* csvLines<T>(
  read: ReadPage<T>,
  columns: Readonly<Record<string, (row: T) => Cell>>,
): AsyncGenerator<string> {
  const cells = Object.values(columns);
  // Spreadsheets recognise UTF-8 only by its byte order mark.
  yield `\uFEFF${csvLine(Object.keys(columns))}`;
  for await (const rows of pagesOf(read))
    yield* linesOf(rows, (row) => csvLine(cells.map((cellOf) => cellOf(row))));
}

/** Escapes characters that some parsers treat as line ends or control codes. */
function jsonLine(json: string): string {
  const escaped = json.replace(
    /[\u007f-\u009f\u2028\u2029\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `${escaped}\n`;
}

/** A record of RFC 4180. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/**
 * Prefixes a cell that a spreadsheet would run as a formula with an apostrophe, as OWASP recommends. Control
 * characters become spaces; line breaks within quotes are kept.
 */
function csvCell(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const isFormula = /^(?:[\t\r]|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/u.test(cell);
  const plain = cell.replace(/\r\n?/g, '\n').replace(/[^\P{Cc}\n]/gu, ' ');
  const text = isFormula ? `'${plain}` : plain;
  return /["\n,;]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const LEAD_COLUMNS = {
  id: ({ id }) => id,
  lead: ({ called }) => called,
  ...texts(['name', 'first_name', 'last_name', 'email', 'linkedin_url', 'title', 'seniority', 'department']),
  company_name: ({ company }) => company.name,
  company_domain: ({ company }) => company.domain,
  company_industry: ({ company }) => company.industry,
  company_headcount: ({ company }) => company.headcount,
  company_location: ({ company }) => company.location,
  ...texts(['stage', 'stage_changed_at', 'source', 'owner', 'notes']),
  next_step: ({ next_step: step }) => step?.text ?? null,
  next_step_due: ({ next_step: step }) => step?.due_date ?? null,
  deal_amount: ({ deal }) => (deal === null ? null : plainAmount(deal.amount_minor, deal.currency)),
  deal_currency: ({ deal }) => deal?.currency ?? null,
  deal_status: ({ deal }) => deal?.status ?? null,
  deal_close_date: ({ deal }) => deal?.close_date ?? null,
  icp_score: ({ icp_score }) => icp_score,
  classification: ({ classification }) => classification,
  signal_count: ({ signal_count }) => signal_count,
  last_signal_at: ({ last_signal_at }) => last_signal_at,
  tags: ({ tags }) => tags.join(', '),
  custom_fields: ({ custom_fields: own }) => (Object.keys(own).length === 0 ? null : JSON.stringify(own)),
  ...texts(['created_at', 'updated_at']),
} satisfies Record<string, (lead: NamedLead) => Cell>;

/** Columns named as in flattened webhook payloads, with the labels of the screens in addition. */
const SIGNAL_COLUMNS = {
  signal_id: (signal) => signal.signal_id,
  timestamp: ({ timestamp }) => timestamp,
  classification: ({ classification }) => classification,
  icp_score: ({ icp_score }) => icp_score,
  headline: ({ headline }) => headline,
  reason: ({ why }) => why.sentence,
  signal_type: (signal) => signal.signal_type,
  excerpt: ({ excerpt }) => excerpt,
  platform_name: ({ platform }) => platform.name,
  platform_post_url: ({ platform }) => platform.post_url,
  platform_posted_at: ({ platform }) => platform.posted_at,
  prospect_name: ({ prospect }) => prospect.name,
  prospect_title: ({ prospect }) => prospect.title,
  prospect_email: ({ prospect }) => prospect.email,
  prospect_linkedin_url: ({ prospect }) => prospect.linkedin_url,
  company_name: ({ company }) => company.name,
  company_domain: ({ company }) => company.domain,
  company_industry: ({ company }) => company.industry,
  company_headcount: ({ company }) => company.headcount,
  company_location: ({ company }) => company.location,
  icp_profile_id: (signal) => signal.icp_profile_id,
  icp_profile_name: (signal) => signal.icp_profile_name,
  external_id: (signal) => signal.external_id,
  lead_id: (signal) => signal.lead_id,
  profile_url: (signal) => signal.profile_url,
} satisfies Record<string, (signal: SignalCard) => Cell>;

/** Columns that are members of the lead with the same name. */
function texts<const N extends keyof Lead>(names: readonly N[]) {
  return Object.fromEntries(names.map((name) => [name, (lead: NamedLead) => lead[name]])) as Record<
    N,
    (lead: NamedLead) => NamedLead[N]
  >;
}
