import type { Database } from 'better-sqlite3';

/** Gives people their numbers within a campaign; one batch of events at a time. */
export interface RecipientNumbers {
  /** The number of the person known by any of `aliases`; those that were not known are his from now on. */
  of(aliases: string[]): number;
  /** Keeps how many numbers were given out. */
  finish(): void;
}

/** Who a campaign's recipient numbers are. Nothing else of a campaign's events names a person. */
export function createRecipients(db: Database) {
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

  const selectTold = db
    .prepare<[string, number], string>(
      'SELECT told_id FROM campaign_events WHERE campaign_id = ? AND recipient = ? AND told_id IS NOT NULL',
    )
    .pluck();
  const clearTold = db.prepare<[string, number]>(
    'UPDATE campaign_events SET told_id = NULL WHERE campaign_id = ? AND recipient = ? AND told_id IS NOT NULL',
  );

  function numbers({ campaignId: id, tenantId }: { campaignId: string; tenantId: string }): RecipientNumbers {
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
    /**
     * Forgets who the person was in every campaign, by the lead's id and its identity keys. Returns the ids of the events
     * that told of his replies, whose texts still name him, and to which nothing here refers from now on.
     */
    forget(tenantId: string, aliases: readonly string[]): string[] {
      const forgotten = aliases.flatMap((alias) => deleteAliases.all(tenantId, alias));
      return forgotten.flatMap(({ campaign_id, recipient }) => {
        // An address that only a campaign had learnt of him goes with the rest.
        deleteNumber.run(campaign_id, recipient);
        const told = selectTold.all(campaign_id, recipient);
        if (told.length > 0) clearTold.run(campaign_id, recipient);
        return told;
      });
    },
  };
}
