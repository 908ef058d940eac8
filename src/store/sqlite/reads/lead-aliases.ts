import type { Database } from 'better-sqlite3';
import type { NamedPerson } from '../../campaign-store.ts';

/** Everything that a named person is known by, read from the leads. */
export function createLeadAliases(db: Database) {
  const exists = db
    .prepare<[string, string], number>('SELECT 1 FROM leads WHERE id = ? AND tenant_id = ?')
    .pluck();
  const selectLead = db
    .prepare<[string, string], string>('SELECT lead_id FROM lead_identities WHERE tenant_id = ? AND key = ?')
    .pluck();
  const selectAddress = db
    .prepare<[string], string>(
      "SELECT key FROM lead_identities WHERE lead_id = ? AND key >= 'email:' AND key < 'email;'",
    )
    .pluck();

  return {
    /** The lead's id, the address given, the lead's own, in this order; null where the lead is not one of the tenant's. */
    aliasesOf(tenantId: string, { leadId, email }: NamedPerson): string[] | null {
      if (leadId !== null && exists.get(leadId, tenantId) === undefined) return null;
      const given = email === null ? [] : [`email:${email}`];
      const known = leadId ?? (email === null ? undefined : selectLead.get(tenantId, `email:${email}`));
      if (known === undefined) return given;
      return [...new Set([known, ...given, ...selectAddress.all(known)])];
    },
    /** The person with what the leads know beside it: a lead's address, the lead of an address. */
    complete(tenantId: string, { leadId, email }: NamedPerson): NamedPerson {
      if (leadId === null) {
        const found = email === null ? undefined : selectLead.get(tenantId, `email:${email}`);
        return { leadId: found ?? null, email };
      }
      if (email !== null || exists.get(leadId, tenantId) === undefined) return { leadId, email };
      return { leadId, email: selectAddress.get(leadId)?.slice('email:'.length) ?? null };
    },
  };
}
