import type { Database } from 'better-sqlite3';
import { maskJson, maskMentions, mentionPattern } from '../../../model/mentions.ts';
import { searchPhrases } from '../search-terms.ts';
import { WAITING } from './shown-state.ts';
import { createSignalSearchSql } from './signal-search.ts';

interface SignalRow {
  id: string;
  wire: string;
  explanation: string;
  text: string;
}

/** Blacking out a person where other people's posts mention them; found by the full-text index. */
export function createMentionSql(db: Database) {
  const search = createSignalSearchSql(db);
  const selectSignals = db.prepare<[string, string], SignalRow>(
    `SELECT s.id, s.wire, s.explanation, s.text
     FROM signal_search CROSS JOIN signals s ON s.seq = signal_search.rowid AND s.tenant_id = ?
     WHERE signal_search MATCH ?`,
  );
  const updateSignal = db.prepare<[string, string, string, string]>(
    'UPDATE signals SET wire = ?, explanation = ?, text = ? WHERE id = ?',
  );
  const selectEvents = db.prepare<[string], { id: string; data: string }>(
    'SELECT id, data FROM events WHERE subject_id = ?',
  );
  const updateEvent = db.prepare<[string, string]>('UPDATE events SET data = ? WHERE id = ?');
  const selectBodies = db.prepare<[string], { id: string; endpoint_id: string; waits: number; body: string }>(
    `SELECT d.id, d.endpoint_id, d.${WAITING} AS waits, b.body
     FROM deliveries d JOIN delivery_bodies b ON b.delivery_id = d.id WHERE d.event_id = ?`,
  );
  const updateBody = db.prepare<[string, string]>(
    'UPDATE delivery_bodies SET body = ? WHERE delivery_id = ?',
  );

  function maskSignal({ id, wire, explanation, text }: SignalRow, pattern: RegExp): void {
    const masked = [
      maskJson(wire, pattern),
      maskJson(explanation, pattern),
      maskMentions(text, pattern),
    ] as const;
    search.reindex(id, () => updateSignal.run(...masked, id));
  }

  /** The endpoints with waiting deliveries among those of the events, and every delivery whose body was changed. */
  function maskEvents(signalId: string, pattern: RegExp): { deliveryIds: string[]; endpointIds: string[] } {
    const deliveries = selectEvents.all(signalId).flatMap((event) => {
      updateEvent.run(maskJson(event.data, pattern), event.id);
      return selectBodies.all(event.id);
    });
    for (const { id, body } of deliveries) updateBody.run(maskJson(body, pattern), id);
    return {
      deliveryIds: deliveries.map(({ id }) => id),
      endpointIds: deliveries.flatMap(({ endpoint_id, waits }) => (waits === 1 ? [endpoint_id] : [])),
    };
  }

  return {
    /** Masks the mentions in signals, in what was told of them and in what is still to be told. */
    mask(tenantId: string, mentions: readonly string[]): { deliveryIds: string[]; endpointIds: string[] } {
      const pattern = mentionPattern(mentions);
      if (pattern === null) return { deliveryIds: [], endpointIds: [] };
      const rows = new Map<string, SignalRow>();
      for (const mention of mentions) {
        const match = searchPhrases(tenantId, mention).map((phrase) => `"${phrase}"`);
        for (const row of match.length === 0 ? [] : selectSignals.all(tenantId, match.join(' AND '))) {
          if (maskMentions(row.text, pattern) !== row.text) rows.set(row.id, row);
        }
      }
      const masked = [...rows.values()].map((row) => {
        maskSignal(row, pattern);
        return maskEvents(row.id, pattern);
      });
      return {
        deliveryIds: masked.flatMap(({ deliveryIds }) => deliveryIds),
        endpointIds: masked.flatMap(({ endpointIds }) => endpointIds),
      };
    },
  };
}
