import { addAll } from '../../../lib/lists.ts';
import type { Company } from '../../../model/company.ts';
import type { CompanyStore } from '../../company-store.ts';
import { pageOf } from '../../pages.ts';
import type { Connection } from '../connection.ts';

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
