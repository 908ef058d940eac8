import type { Database } from 'better-sqlite3';
import type { Campaign } from '../../../model/campaign.ts';

/** Gives people their numbers within a campaign; one batch of events at a time. */
export interface RecipientNumbers {
  /** The number of the person known by any of `aliases`; those that were not known are his from now on. */
  of(aliases: string[]): number;
  /** Keeps how many numbers were given out. */
  finish(): void;
}

/** Who a campaign's recipient numbers are. Nothing else of a campaign's events names a person. */
export function createRecipientSql(db: Database) {
  const selectCount = db
    .prepare<[string], number>('SELECT recipient_count FROM campaigns WHERE id = ?')
    .pluck();
  const updateCount = db.prepare<[number, string]>('UPDATE campaigns SET recipient_count = ? WHERE id = ?');
  const selectNumber = db
    .prepare<[string, string], number>(
      'SELECT recipient FROM campaign_recipients WHERE campaign_id = ? AND alias = ?',
    )
    .pluck();
  const insertAlias = db.prepare<[string, string, string, number]>(
    'INSERT INTO campaign_recipients (campaign_id, alias, tenant_id, recipient) VALUES (?, ?, ?, ?)',
  );
  const deleteAliases = db.prepare<[string, string], { campaign_id: string; recipient: number }>(
    'DELETE FROM campaign_recipients WHERE tenant_id = ? AND alias = ? RETURNING campaign_id, recipient',
  );
  const deleteNumber = db.prepare<[string, number]>(
    'DELETE FROM campaign_recipients WHERE campaign_id = ? AND recipient = ?',
  );

  function numbers({ id, tenantId }: Campaign): RecipientNumbers {
    const before = selectCount.get(id) ?? 0;
    let count = before;
    return {
      of(aliases) {
        const known = aliases.map((alias) => selectNumber.get(id, alias));
        // Where the aliases were two people so far, the first of them counts: what was counted is not counted anew.
        const number = known.find((value) => value !== undefined) ?? count++;
        for (const [index, alias] of aliases.entries()) {
          if (known[index] === undefined) insertAlias.run(id, alias, tenantId, number);
        }
        return number;
      },
      finish() {
        if (count !== before) updateCount.run(count, id);
      },
    };
  }

  return {
    numbers,
    /** Forgets who the person was in every campaign; returns the numbers that now nobody stands behind. */
    forget(tenantId: string, aliases: readonly string[]): { campaignId: string; recipient: number }[] {
      const forgotten = aliases.flatMap((alias) => deleteAliases.all(tenantId, alias));
      // An address that only a campaign had learnt of him goes with the rest.
      for (const { campaign_id, recipient } of forgotten) deleteNumber.run(campaign_id, recipient);
      return forgotten.map(({ campaign_id, recipient }) => ({ campaignId: campaign_id, recipient }));
    },
  };
}
