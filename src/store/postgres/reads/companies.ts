import { addAll } from '../../../lib/lists.ts';
import { eachInTurns } from '../../../lib/yielding.ts';
import type { Company } from '../../../model/company.ts';
import type { Lead } from '../../../model/lead.ts';
import type { Signal } from '../../../model/signal.ts';
import { contactsOf } from '../../../rules/signals.ts';
import type { CompanyStore } from '../../company-store.ts';
import { pageOf } from '../../pages.ts';
import type { Connection } from '../connection.ts';
import { rows, values } from '../sql/prepared.ts';
import { COMPANIES } from '../tables.ts';

function toCompany({ activeAt: _, ...company }: Company & { activeAt: number }): Company {
  return company;
}

export function companyReads(db: Connection) {
  const selectById = COMPANIES.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectByDomain = COMPANIES.select<[string, string]>(db, 'WHERE domain = ? AND tenant_id = ?');

  return {
    async findCompany(tenantId, key) {
      const found =
        'id' in key ? await selectById.get(key.id, tenantId) : await selectByDomain.get(key.domain, tenantId);
      return found === null ? null : toCompany(found);
    },
    async listCompanies(tenantId, { domains, industries, search, sort, after, limit }) {
      const [key, column] =
        sort === '-created_at'
          ? (['createdAt', 'created_at'] as const)
          : (['activeAt', 'active_at'] as const);
      const conditions = ['tenant_id = ?'];
      const terms: unknown[] = [tenantId];
      const add = (condition: string, ...more: unknown[]) => {
        conditions.push(condition);
        addAll(terms, more);
      };
      if (domains.length > 0) add('domain = ANY (?)', domains);
      if (industries.length > 0) add("industry <> '' AND industry = ANY (?)", industries);
      if (search !== null) add('strpos(search, ?) > 0', search);
      if (after !== null) add(`(${column}, id) < (?, ?)`, ...after);
      const found = await COMPANIES.select<unknown[]>(
        db,
        `WHERE ${conditions.join(' AND ')} ORDER BY ${column} DESC, id DESC LIMIT ?`,
      ).all(...terms, limit + 1);
      return pageOf(found, limit, { toRow: toCompany, position: (row) => [row[key], row.id] });
    },
  } satisfies Partial<CompanyStore>;
}

/** The newest signals of a company that are read for contacts; each has to be parsed. */
const CONTACT_SIGNALS = 200;

/** Facts about a company from signals and leads. */
export function companySignalReads(db: Connection) {
  const own = "tenant_id = :tenantId AND company_domain = :domain AND company_domain <> ''";
  const ofDomain = `s.tenant_id = :tenantId AND s.company_domain = d.domain COLLATE "C" AND s.company_domain <> ''`;
  const selectActivity = rows<[Record<string, unknown>], { counts: string[]; lastAt: number | null }>(
    db,
    `SELECT (SELECT max(s.timestamp) FROM signals s WHERE ${ofDomain}) AS "lastAt",
            ARRAY(SELECT (SELECT count(*) FROM signals s WHERE ${ofDomain} AND s.timestamp >= t.since)
                  FROM unnest(:since::bigint[]) WITH ORDINALITY t (since, place) ORDER BY t.place) AS counts
     FROM unnest(:domains::text[]) WITH ORDINALITY d (domain, place) ORDER BY d.place`,
  );
  const selectSteps = rows<[Record<string, unknown>], { step: number; count: number }>(
    db,
    `SELECT (timestamp - :from::bigint) / :stepMs::bigint AS step, count(*) AS count FROM signals
     WHERE ${own} AND timestamp >= :from GROUP BY 1 ORDER BY 1`,
  );
  const selectTop = values<[Record<string, unknown>], string>(
    db,
    `SELECT wire FROM signals WHERE ${own} AND timestamp >= :since
     ORDER BY score DESC, timestamp DESC, id LIMIT :limit`,
  );
  const selectLeads = values<[Record<string, unknown>], string>(
    db,
    `SELECT wire FROM leads WHERE ${own} ORDER BY created_at DESC, id DESC LIMIT :limit`,
  );
  const selectWires = values<[Record<string, unknown>], string>(
    db,
    `SELECT wire FROM signals WHERE ${own} ORDER BY timestamp DESC LIMIT ${CONTACT_SIGNALS}`,
  );

  return {
    async readCompanyActivity(tenantId, domains, since) {
      const found = await selectActivity({ tenantId, domains, since });
      return found.map(({ counts, lastAt }) => ({ counts: counts.map(Number), lastAt }));
    },
    countCompanySignals: (tenantId, domain, { from, stepMs }) =>
      selectSteps({ tenantId, domain, from, stepMs }),
    listTopSignals: (tenantId, domain, { since, limit }) => selectTop({ tenantId, domain, since, limit }),
    async listCompanyContacts(tenantId, domain, limit) {
      const [leads, signals] = await Promise.all([
        selectLeads({ tenantId, domain, limit }),
        selectWires({ tenantId, domain }),
      ]);
      return contactsOf(
        await eachInTurns(leads, async (wire) => JSON.parse(wire) as Lead),
        await eachInTurns(signals, async (wire) => JSON.parse(wire) as Signal),
        domain,
      ).slice(0, limit);
    },
  } satisfies Partial<CompanyStore>;
}
