import type { Database } from 'better-sqlite3';
import type { CompanyStatements, StoredCompany } from '../../changes/companies.ts';
import { ACTIVE_COMPANIES } from '../reads/companies.ts';
import type { Table } from '../table.ts';
import { changed, run } from './prepared.ts';

const STORED: Table<StoredCompany> = ACTIVE_COMPANIES.with<{ search: string; industry: string }>({
  search: 'plain',
  industry: 'plain',
});

export function companiesSql(db: Database): CompanyStatements['companies'] {
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
    selectByDomain: ACTIVE_COMPANIES.select(db, 'WHERE domain = ? AND tenant_id = ?').get,
  };
}
