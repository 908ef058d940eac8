import type { Database } from 'better-sqlite3';
import type { Lead } from '../../../model/lead.ts';
import { maskJson, maskMentions, mentionPattern, mentionsInJson } from '../../../model/mentions.ts';
import { personKeys } from '../../../model/person-keys.ts';
import type { Signal } from '../../../model/signal.ts';
import type { Mentions } from '../../erasure-store.ts';
import { BODY_JOINS, WHOLE_BODY } from '../reads/bodies.ts';
import { WAITING } from '../reads/shown-state.ts';
import { createLeadRow } from './lead-row.ts';
import { createSignalIndex } from './signal-index.ts';

interface SignalRow {
  wire: string;
  explanation: string;
  text: string;
  canonical_url: string | null;
  reason: string | null;
}

interface BodyRow {
  id: string;
  endpoint_id: string;
  waits: number;
  body_id: number | null;
  body: string | null;
}

/** Every delivery whose body was changed, and the endpoints of those that wait. */
interface Masked {
  deliveryIds: string[];
  endpointIds: string[];
}

/**
 * Blacks a person out where other people's signals, leads and events mention them, in what was sent of these and in what is
 * still to be sent.
 */
export function createMentionMask(db: Database) {
  const maskSignal = createSignalMask(db);
  const maskLead = createLeadMask(db);
  const maskEvent = createEventMask(db);
  const selectAbout = db.prepare<[string], string>('SELECT id FROM events WHERE subject_id = ?').pluck();

  return {
    /** In a signal and the events about it. */
    signal(tenantId: string, id: string, mentions: Mentions): Masked {
      const pattern = maskSignal(tenantId, id, mentions);
      const masked =
        pattern === null ? [] : selectAbout.all(id).map((eventId) => maskEvent(eventId, pattern));
      return {
        deliveryIds: masked.flatMap(({ deliveryIds }) => deliveryIds),
        endpointIds: masked.flatMap(({ endpointIds }) => endpointIds),
      };
    },
    lead(tenantId: string, id: string, mentions: Mentions): void {
      const pattern = mentionPattern(mentions.texts, mentions.names);
      if (pattern !== null) maskLead(tenantId, id, pattern);
    },
    event(id: string, mentions: Mentions): Masked {
      const pattern = mentionPattern(mentions.texts, mentions.names);
      return pattern === null ? { deliveryIds: [], endpointIds: [] } : maskEvent(id, pattern);
    },
  };
}

/** Returns what was blacked out, for what was told of the signal; null where there is nothing to do. */
function createSignalMask(db: Database) {
  const index = createSignalIndex(db);
  const select = db.prepare<[string, string], SignalRow>(
    `SELECT s.wire, s.explanation, s.text, s.canonical_url, f.reason
     FROM signals s LEFT JOIN signal_feedback f ON f.signal_id = s.id WHERE s.id = ? AND s.tenant_id = ?`,
  );
  const update = db.prepare<[string, string, string, string]>(
    'UPDATE signals SET wire = ?, explanation = ?, text = ? WHERE id = ?',
  );
  // Not blacked out: two addresses of one length would be the same post.
  const forgetPlace = db.prepare<[string]>(
    'UPDATE signals SET external_id = NULL, canonical_url = NULL WHERE id = ?',
  );
  const selectPlaces = db.prepare<
    [string],
    { position: number; external_id: string | null; canonical_url: string | null }
  >('SELECT position, external_id, canonical_url FROM signal_places WHERE signal_id = ?');
  const forgetOtherPlace = db.prepare<[string, number]>(
    'UPDATE signal_places SET external_id = NULL, canonical_url = NULL WHERE signal_id = ? AND position = ?',
  );
  const updateReason = db.prepare<[string, string]>(
    'UPDATE signal_feedback SET reason = ? WHERE signal_id = ?',
  );

  return (tenantId: string, id: string, mentions: Mentions): RegExp | null => {
    const row = select.get(id, tenantId);
    const pattern = row === undefined ? null : patternFor(JSON.parse(row.wire), mentions);
    if (row === undefined || pattern === null) return null;
    const signal = JSON.parse(row.wire) as Signal;
    const mentioned = (text: string | null) => text !== null && maskMentions(text, pattern) !== text;
    const { platform, external_id } = signal;
    const placeTells = [platform.post_url, external_id, row.canonical_url].some(mentioned);
    const left = placeTells
      ? { ...signal, platform: { ...platform, post_url: '' }, external_id: null }
      : signal;
    const places = signal.also_seen?.map((place) =>
      mentioned(place.post_url) ? { ...place, post_url: '' } : place,
    );
    const wire = maskJson(
      JSON.stringify(places === undefined ? left : { ...left, also_seen: places }),
      pattern,
    );
    index.renew(id, () => {
      update.run(wire, maskJson(row.explanation, pattern), maskMentions(row.text, pattern), id);
    });
    if (placeTells) forgetPlace.run(id);
    for (const { position, external_id, canonical_url } of selectPlaces.all(id)) {
      if ([external_id, canonical_url].some(mentioned)) forgetOtherPlace.run(id, position);
    }
    if (row.reason !== null && mentioned(row.reason)) updateReason.run(maskMentions(row.reason, pattern), id);
    return pattern;
  };
}

/** Names stay where the author has one of them, and an address or profile that tells them from the person. */
function patternFor({ prospect }: Signal, { texts, names }: Mentions): RegExp | null {
  const sameName = mentionPattern([], names);
  const isOther = personKeys(prospect).length > 0 && sameName !== null && sameName.test(prospect.name);
  return mentionPattern(texts, isOther ? [] : names);
}

function createLeadMask(db: Database) {
  const leadRow = createLeadRow(db);
  const select = db
    .prepare<[string, string], string>('SELECT wire FROM leads WHERE id = ? AND tenant_id = ?')
    .pluck();
  const selectMoves = db.prepare<[string], { position: number; reason: string }>(
    'SELECT position, reason FROM stage_moves WHERE lead_id = ?',
  );
  const updateMove = db.prepare<[string, string, number]>(
    'UPDATE stage_moves SET reason = ? WHERE lead_id = ? AND position = ?',
  );

  return (tenantId: string, id: string, pattern: RegExp): void => {
    const wire = select.get(id, tenantId);
    if (wire === undefined) return;
    const lead = JSON.parse(wire) as Lead;
    const left: Lead = {
      ...lead,
      source: maskMentions(lead.source, pattern),
      tags: [...new Set(lead.tags.map((tag) => maskMentions(tag, pattern)))],
      custom_fields: JSON.parse(maskJson(JSON.stringify(lead.custom_fields), pattern)),
      notes: maskMentions(lead.notes, pattern),
      next_step: lead.next_step && { ...lead.next_step, text: maskMentions(lead.next_step.text, pattern) },
    };
    leadRow.update(left);
    leadRow.setTags(tenantId, left);
    for (const { position, reason } of selectMoves.all(id)) {
      updateMove.run(maskMentions(reason, pattern), id, position);
    }
  };
}

function createEventMask(db: Database) {
  const select = db.prepare<[string], string>('SELECT data FROM events WHERE id = ?').pluck();
  const update = db.prepare<[string, string]>('UPDATE events SET data = ? WHERE id = ?');
  // Those without a body too: what receivers sent back is kept longer.
  const selectBodies = db.prepare<[string, string], BodyRow>(
    `SELECT d.id, d.endpoint_id, d.${WAITING} AS waits, d.body_id, ${WHOLE_BODY} AS body
     FROM deliveries d ${BODY_JOINS}
     WHERE d.id IN (SELECT id FROM deliveries WHERE event_id = ?
                    UNION SELECT delivery_id FROM batched_events WHERE event_id = ?)`,
  );
  // Whole: the tail is not this event's alone.
  const updateBody = db.prepare<[string, number]>(
    'UPDATE delivery_bodies SET body = ?, tail_id = NULL WHERE id = ?',
  );

  return (eventId: string, pattern: RegExp): Masked => {
    const data = select.get(eventId);
    if (data === undefined) return { deliveryIds: [], endpointIds: [] };
    update.run(maskJson(data, pattern), eventId);
    const deliveries = selectBodies.all(eventId, eventId);
    for (const [bodyId, body] of new Map(deliveries.map((row) => [row.body_id, row.body]))) {
      if (bodyId !== null && body !== null) updateBody.run(maskJson(body, pattern), bodyId);
    }
    return {
      deliveryIds: deliveries.map(({ id }) => id),
      endpointIds: deliveries.flatMap(({ endpoint_id, waits }) => (waits === 1 ? [endpoint_id] : [])),
    };
  };
}

/** A stretch of a tenant's kept answers: the place before it, `[route, key]`. */
type AnswerPlace = [route: string, key: string];

/** Kept answers looked through in one go: some 10 ms. An answer of a batch has a megabyte. */
const ANSWERS_AT_ONCE = 200;
const CHARACTERS_AT_ONCE = 500_000;

/**
 * Goes through the next of a tenant's kept answers: drops those that hold one of `texts`, and blacks the mentions out of
 * those that are about others. Returns the place of the next stretch; null: there is none.
 */
export function createAnswerEraser(db: Database) {
  const select = db.prepare<
    [string, string, string],
    { rowid: number; route: string; key: string; body: string; steps: string }
  >(
    `SELECT rowid, route, key, ifnull(body, '') AS body, steps FROM idempotency_keys
     WHERE tenant_id = ? AND (route, key) > (?, ?) ORDER BY route, key`,
  );
  const forget = db.prepare<[number]>('DELETE FROM idempotency_keys WHERE rowid = ?');
  const update = db.prepare<[string, number]>('UPDATE idempotency_keys SET body = ? WHERE rowid = ?');

  return (
    tenantId: string,
    { texts, mentions, after }: { texts: readonly string[]; mentions: Mentions; after: AnswerPlace },
  ): AnswerPlace | null => {
    const holds = createTextTest(texts);
    // lower() knows ASCII alone, so that the last word of a name is looked for in JavaScript.
    const pattern = mentionPattern(mentions.texts, mentions.names);
    const forgotten: number[] = [];
    const masked: [body: string, rowid: number][] = [];
    let next: AnswerPlace | null = null;
    let rows = 0;
    let characters = 0;
    // No other statement may run while one iterates.
    for (const { rowid, route, key, body, steps } of select.iterate(tenantId, ...after)) {
      if (holds(body) || holds(steps)) forgotten.push(rowid);
      else if (pattern !== null && body !== '' && mentionsInJson(body, pattern))
        masked.push([maskJson(body, pattern), rowid]);
      rows++;
      characters += body.length + steps.length;
      if (rows < ANSWERS_AT_ONCE && characters < CHARACTERS_AT_ONCE) continue;
      next = [route, key];
      break;
    }
    for (const rowid of forgotten) forget.run(rowid);
    for (const one of masked) update.run(...one);
    return next;
  };
}

/** Whether a JSON text holds one of the texts; a person may have thousands of signals, so that ids are looked up. */
function createTextTest(texts: readonly string[]): (json: string) => boolean {
  const isId = (text: string) => /^(?:sig|led)_[0-9a-z]+$/.test(text);
  const ids = new Set(texts.filter(isId));
  const others = texts
    .filter((text) => !isId(text))
    .map((text) => JSON.stringify(text).slice(1, -1))
    .filter((text) => text !== '');
  return (json) =>
    Array.from(json.matchAll(/(?:sig|led)_[0-9a-z]+/g)).some(([id]) => ids.has(id)) ||
    others.some((text) => json.includes(text));
}
