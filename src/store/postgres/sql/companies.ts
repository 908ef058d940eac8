import type { CompanyStatements, StoredCompany } from '../../changes/companies.ts';
import type { Connection } from '../connection.ts';
import { COMPANIES, type Table } from '../tables.ts';
import { changed, type Later, run } from './prepared.ts';

const STORED: Table<StoredCompany> = COMPANIES.with<{ search: string; industry: string }>({
  search: 'plain',
  industry: 'plain',
});

export function companiesSql(db: Connection): Later<CompanyStatements['companies']> {
  const update = changed<Record<string, unknown>[]>(
    db,
    `UPDATE companies SET search = :search, industry = :industry, facts = :facts, updated_at = :updatedAt,
            version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :expectedVersion`,
  );
  return {
    updateCompany: (company, expectedVersion) => update({ ...STORED.encode(company), expectedVersion }),
    setActive: run(db, 'UPDATE companies SET active_at = ? WHERE id = ?'),
    insertCompany: STORED.insert(db, 'ON CONFLICT DO NOTHING'),
    selectByDomain: COMPANIES.select<[string, string]>(db, 'WHERE domain = ? AND tenant_id = ?').get,
  };
}
