import type { Lead } from '../../model/lead.ts';
import {
  createTextTest,
  FEW_TEXTS,
  maskJson,
  maskMentions,
  mentionHint,
  mentionPattern,
  mentionsInJson,
} from '../../model/mentions.ts';
import { personKeys } from '../../model/person-keys.ts';
import type { Signal } from '../../model/signal.ts';
import type { Mentions } from '../erasure-store.ts';
import type { Asks, Script } from '../script.ts';
import { createLeadRow } from './lead-rows.ts';
import type { Reindexing, SignalStatements } from './signals.ts';

export interface MentionStatements extends SignalStatements {
  mentions: {
    selectAbout(subjectId: string): string[];
    selectSignal(id: string, tenantId: string): ErasedSignalRow | undefined;
    updateSignal(wire: string, explanation: string, text: string, id: string): void;
    forgetPlace(id: string): void;
    selectPlaces(
      id: string,
    ): { position: number; external_id: string | null; canonical_url: string | null }[];
    forgetOtherPlace(id: string, position: number): void;
    updateReason(reason: string, signalId: string): void;
    selectLead(id: string, tenantId: string): string | undefined;
    selectMoves(leadId: string, after: number, limit: number): { position: number; reason: string }[];
    updateMove(reason: string, leadId: string, position: number): void;
    selectEvent(id: string): string | undefined;
    updateEvent(data: string, id: string): void;
    /** Of the event, or of a message that contains it, after one of them. */
    selectDelivered(eventId: string, inBatches: string, after: string, limit: number): DeliveredRow[];
    selectBody(id: number): string | undefined;
    updateBody(body: string, id: number): void;
    /** Stored responses after a position, limited in number and total characters. */
    selectAnswers(
      tenantId: string,
      after: AnswerPlace,
      most: { rows: number; characters: number },
    ): { answers: AnswerRow[]; isLast: boolean };
    /** 1 if one of the signals is erased: has no text. */
    hasErased(ids: string, tenantId: string): number | undefined;
    forgetAnswer(tenantId: string, route: string, key: string): void;
    updateAnswer(body: string, tenantId: string, route: string, key: string): void;
  };
}

/** The response of a keyed request, and its steps so far. */
export interface AnswerRow {
  route: string;
  key: string;
  body: string;
  steps: string;
}

interface ErasedSignalRow {
  wire: string;
  explanation: string;
  text: string;
  canonical_url: string | null;
  reason: string | null;
}

interface DeliveredRow {
  id: string;
  endpoint_id: string;
  waits: number;
  body_id: number | null;
}

/** `reindexing` is that of all signals of the change. */
interface SignalMasking {
  tenantId: string;
  mentions: Mentions;
  reindexing: Reindexing;
}

/** The deliveries of an event whose bodies are still to be redacted. */
export interface NamedBodies {
  eventId: string;
  /** The last delivery before them. */
  after: string;
  /** Bodies that were redacted, the last ones: many deliveries may share one. */
  masked: readonly number[];
  /** Names stay. */
  keepsNames: boolean;
}

/** The next deliveries of an event, and the endpoints of pending ones. */
interface MaskedBodies {
  deliveryIds: string[];
  endpointIds: string[];
  /** The length of the redacted bodies. */
  characters: number;
  next: NamedBodies | null;
}

/** The events about a redacted signal. */
interface MaskedSignal {
  eventIds: string[];
  keepsNames: boolean;
}

const KNOWN_BODIES = 100;

/**
 * Redacts mentions of a person in other people's signals, leads and events, and in their deliveries, sent or pending.
 */
export function createMentionMask(ask: Asks<MentionStatements>) {
  const maskSignal = createSignalMask(ask);
  const maskLead = createLeadMask(ask);

  return {
    /** In a signal; returns the events about it, which are to be redacted, too. */
    signal: maskSignal,
    /** Returns the length of the lead. */
    *lead(tenantId: string, id: string, mentions: Mentions): Script<number> {
      const pattern = mentionPattern(mentions.texts, mentions.names);
      return pattern === null ? 0 : yield* maskLead(tenantId, id, pattern);
    },
    /** In the reasons of the next moves of a lead; returns the position of the last one, null: there are no more. */
    *moves(leadId: string, after: number, mentions: Mentions): Script<number | null> {
      const pattern = mentionPattern(mentions.texts, mentions.names);
      if (pattern === null) return null;
      const moves = yield* ask.mentions.selectMoves(leadId, after, MOVES_AT_ONCE);
      for (const { position, reason } of moves) {
        const masked = maskMentions(reason, pattern);
        if (masked !== reason) yield* ask.mentions.updateMove(masked, leadId, position);
      }
      return moves.length < MOVES_AT_ONCE ? null : (moves.at(-1)?.position ?? null);
    },
    /** In the data of an event; returns its length. */
    *event(id: string, mentions: Mentions): Script<number> {
      const pattern = mentionPattern(mentions.texts, mentions.names);
      const data = pattern === null ? undefined : yield* ask.mentions.selectEvent(id);
      if (pattern === null || data === undefined) return 0;
      yield* ask.mentions.updateEvent(maskJson(data, pattern), id);
      return data.length;
    },
    /** In the bodies of the next deliveries of an event, until these have `most` characters, and of `limit` deliveries at most. */
    *bodies(
      of: NamedBodies,
      { texts, names }: Mentions,
      { most, limit }: { most: number; limit: number },
    ): Script<MaskedBodies> {
      const pattern = mentionPattern(texts, of.keepsNames ? [] : names);
      const masked: MaskedBodies = { deliveryIds: [], endpointIds: [], characters: 0, next: null };
      if (pattern === null) return masked;
      const known = new Set(of.masked);
      let { after } = of;
      const next = () => ({ ...of, after, masked: [...known].slice(-KNOWN_BODIES) });
      const found = yield* ask.mentions.selectDelivered(of.eventId, of.eventId, after, limit);
      for (const { id, endpoint_id, waits, body_id } of found) {
        if (body_id !== null && !known.has(body_id)) {
          if (masked.characters >= most) return { ...masked, next: next() };
          const body = yield* ask.mentions.selectBody(body_id);
          if (body !== undefined) yield* ask.mentions.updateBody(maskJson(body, pattern), body_id);
          masked.characters += body?.length ?? 0;
          known.add(body_id);
        }
        masked.deliveryIds.push(id);
        if (waits === 1) masked.endpointIds.push(endpoint_id);
        after = id;
      }
      return found.length < limit ? masked : { ...masked, next: next() };
    },
  };
}

/** A lead may have thousands of moves, each with a reason of up to 1,000 characters. */
const MOVES_AT_ONCE = 50;

function createSignalMask(ask: Asks<MentionStatements>) {
  return function* ({ tenantId, mentions, reindexing }: SignalMasking, id: string): Script<MaskedSignal> {
    const row = yield* ask.mentions.selectSignal(id, tenantId);
    if (row === undefined) return { eventIds: [], keepsNames: false };
    const signal = JSON.parse(row.wire) as Signal;
    const keepsNames = isNamesake(signal, mentions.names);
    const pattern = mentionPattern(mentions.texts, keepsNames ? [] : mentions.names);
    if (pattern === null) return { eventIds: [], keepsNames };
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
    const [explanation, text] = [maskJson(row.explanation, pattern), maskMentions(row.text, pattern)];
    yield* reindexing.leave(id);
    yield* ask.mentions.updateSignal(wire, explanation, text, id);
    if (placeTells) yield* ask.mentions.forgetPlace(id);
    for (const { position, external_id, canonical_url } of yield* ask.mentions.selectPlaces(id)) {
      if ([external_id, canonical_url].some(mentioned)) yield* ask.mentions.forgetOtherPlace(id, position);
    }
    if (row.reason !== null && mentioned(row.reason))
      yield* ask.mentions.updateReason(maskMentions(row.reason, pattern), id);
    return { eventIds: yield* ask.mentions.selectAbout(id), keepsNames };
  };
}

/** Whether the author has the same name and a different address or profile: names stay in such posts. */
function isNamesake({ prospect }: Signal, names: readonly string[]): boolean {
  const sameName = mentionPattern([], names);
  return personKeys(prospect).length > 0 && sameName !== null && sameName.test(prospect.name);
}

function createLeadMask(ask: Asks<MentionStatements>) {
  const leadRow = createLeadRow(ask);

  return function* (tenantId: string, id: string, pattern: RegExp): Script<number> {
    const wire = yield* ask.mentions.selectLead(id, tenantId);
    if (wire === undefined) return 0;
    const lead = JSON.parse(wire) as Lead;
    const left: Lead = {
      ...lead,
      source: maskMentions(lead.source, pattern),
      tags: [...new Set(lead.tags.map((tag) => maskMentions(tag, pattern)))],
      custom_fields: JSON.parse(maskJson(JSON.stringify(lead.custom_fields), pattern)),
      notes: maskMentions(lead.notes, pattern),
      next_step: lead.next_step && { ...lead.next_step, text: maskMentions(lead.next_step.text, pattern) },
    };
    yield* leadRow.update(left);
    yield* leadRow.setTags(tenantId, left);
    return wire.length;
  };
}

/** The position before a range of a tenant's stored responses: `[route, key]`. */
export type AnswerPlace = [route: string, key: string];

/** Stored responses scanned at a time: usually a millisecond, at most some 50 ms. */
const STRETCH = { rows: 200, characters: 50_000 };
/**
 * The longest response that is redacted: others that may mention the person are deleted. Responses of batches have up to 8 MB, and names
 * can be such that searching 5 MB takes 2.5 s.
 */
const MOST_REDACTED = 50_000;
/** If there is nothing to redact, a response is searched without parsing it. */
const WIDE_STRETCH = { rows: 1_000, characters: 2_000_000 };

/**
 * Scans the next of a tenant's stored responses: deletes those that contain one of `texts` or the ID of an erased signal, and redacts
 * mentions in the others, or deletes these if they are long. Signals are looked up: to read a list of 300,000 for each range took 0.3 s.
 * Returns the position of the next range; null: there is none.
 */
export function createAnswerEraser(ask: Asks<MentionStatements>) {
  function* hasErased(tenantId: string, text: string): Script<boolean> {
    const ids = new Set(Array.from(text.matchAll(/sig_[0-9a-z]+/g), ([id]) => id));
    return ids.size > 0 && (yield* ask.mentions.hasErased(JSON.stringify([...ids]), tenantId)) !== undefined;
  }

  return function* (
    tenantId: string,
    { texts, mentions, after }: { texts: readonly string[]; mentions: Mentions; after: AnswerPlace },
  ): Script<AnswerPlace | null> {
    const holds = createTextTest(texts);
    // Lower case in SQL does not cover every script, so the last word of a name is searched for here.
    const pattern = mentionPattern(mentions.texts, mentions.names);
    const hint = mentionHint(mentions.texts, mentions.names);
    const stretch = pattern === null && texts.length <= FEW_TEXTS ? WIDE_STRETCH : STRETCH;
    const { answers, isLast } = yield* ask.mentions.selectAnswers(tenantId, after, stretch);
    for (const { route, key, body, steps } of answers) {
      const mayName = pattern !== null && (hint === null || hint.test(body));
      const isLong = mayName && body.length > MOST_REDACTED;
      if (holds(body) || holds(steps) || isLong || (yield* hasErased(tenantId, body + steps)))
        yield* ask.mentions.forgetAnswer(tenantId, route, key);
      else if (pattern !== null && mayName && body !== '' && mentionsInJson(body, pattern))
        yield* ask.mentions.updateAnswer(maskJson(body, pattern), tenantId, route, key);
    }
    const last = answers.at(-1);
    return isLast || last === undefined ? null : [last.route, last.key];
  };
}
