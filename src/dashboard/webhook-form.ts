import type { z } from 'zod';
import { check } from '../http/faults.ts';
import { refusal } from '../http/json-body.ts';
import { CLASSIFICATIONS } from '../model/constants.ts';
import { EVENT_TYPES } from '../model/event.ts';
import { payloadFormatSchema } from '../model/payload-format.ts';
import { isPreset, PAYLOAD_FIELDS, PRESETS } from '../model/payload-shape.ts';
import { SIGNAL_TYPES } from '../model/signal.ts';
import {
  BATCHINGS,
  type WebhookCreate,
  type WebhookInput,
  type WebhookPatch,
  webhookCreateSchema,
  webhookInputSchema,
} from '../model/webhook.ts';
import { EVENT_WORDS } from './delivery-words.ts';
import { type Form, lines, number, text, texts, ticked } from './forms.ts';
import { linesOfMembers, memberOfLine } from './member-lines.ts';
import { SIGNAL_TYPE_WORDS } from './profile-form.ts';

const BATCHING_WORDS: Record<(typeof BATCHINGS)[number], string> = {
  instant: 'Instant: one message per signal',
  hourly: 'Hourly: one message per hour',
  daily: 'Daily: one message, at the time of the digest',
};

/** What the form of an endpoint offers to choose from. */
export const WEBHOOK_CHOICES = {
  events: EVENT_TYPES.map((name) => ({ name, ...EVENT_WORDS[name] })),
  signalTypes: SIGNAL_TYPES,
  signalTypeWords: SIGNAL_TYPE_WORDS,
  classifications: CLASSIFICATIONS,
  fields: PAYLOAD_FIELDS,
  presets: PRESETS,
  batchings: BATCHINGS.map((name) => ({ name, words: BATCHING_WORDS[name] })),
};

/** The form of an endpoint as its template shows it: what was typed is kept, right or wrong. */
export function formOfSettings(settings: WebhookInput, { ordered = false } = {}): Form {
  const format = settings.payload_format;
  const custom = format !== null && !isPreset(format) ? format : null;
  const shown = custom?.include ?? PAYLOAD_FIELDS.filter((field) => !custom?.exclude?.includes(field));
  return {
    mode: 'push',
    backfill_days: '0',
    ordered: ordered ? 'on' : '',
    headers: '',
    url: settings.url,
    label: settings.label,
    event_types: settings.event_types,
    signal_types: settings.signal_types,
    classifications: settings.classifications,
    icp_profile_ids: settings.icp_profile_ids,
    min_score: String(settings.min_score),
    max_retries: String(settings.max_retries),
    retry_interval_seconds:
      settings.retry_interval_seconds === null ? '' : String(settings.retry_interval_seconds),
    backoff: settings.backoff,
    timeout_seconds: String(settings.timeout_seconds),
    rate_limit_per_minute: String(settings.rate_limit_per_minute),
    dead_letter: settings.dead_letter ? 'on' : '',
    auto_resume: settings.auto_resume ? 'on' : '',
    format: format === null ? 'standard' : isPreset(format) ? format.preset : 'custom',
    batching: settings.batching,
    topic: format !== null && isPreset(format) ? (format.topic ?? '') : '',
    fields: shown,
    flatten: custom?.flatten ? 'on' : '',
    custom: linesOfMembers(custom?.custom ?? {}),
  };
}

/** The form of a new endpoint. */
export function emptyWebhookForm(): Form {
  return formOfSettings(webhookInputSchema.parse({ url: '-' }));
}

/** What a form says of a new endpoint. @throws DomainError `INVALID_REQUEST` with a fault for each field */
export function createdOf(form: Form): WebhookCreate {
  const mode = text(form, 'mode') || undefined;
  return held(webhookCreateSchema, {
    ...membersOf(form),
    ...(mode === 'pull' && { url: undefined }),
    mode,
    headers: headersOf(form),
    backfill_days: number(form, 'backfill_days') ?? undefined,
  });
}

/**
 * The settings that a form says, whole. Headers cannot be shown again, so that those of before stay where none is written.
 * @throws DomainError `INVALID_REQUEST` with a fault for each field
 */
export function settingsOf(form: Form): WebhookPatch {
  const given = headersOf(form);
  const headers = ticked(form, 'no_headers') ? {} : given;
  const settings = held(webhookInputSchema.extend({ ordered: webhookCreateSchema.shape.ordered }), {
    ...membersOf(form),
  });
  if (headers === undefined) return settings;
  return { ...settings, ...held(webhookCreateSchema.pick({ headers: true }), { headers }) };
}

function membersOf(form: Form) {
  return {
    url: text(form, 'url'),
    label: text(form, 'label'),
    event_types: texts(form, 'event_types'),
    signal_types: texts(form, 'signal_types'),
    classifications: texts(form, 'classifications'),
    icp_profile_ids: texts(form, 'icp_profile_ids'),
    min_score: number(form, 'min_score') ?? 0,
    max_retries: number(form, 'max_retries') ?? undefined,
    retry_interval_seconds: number(form, 'retry_interval_seconds'),
    backoff: text(form, 'backoff') || undefined,
    timeout_seconds: number(form, 'timeout_seconds') ?? undefined,
    rate_limit_per_minute: number(form, 'rate_limit_per_minute') ?? undefined,
    dead_letter: ticked(form, 'dead_letter'),
    auto_resume: ticked(form, 'auto_resume'),
    ordered: ticked(form, 'ordered'),
    payload_format: wishedFormat(form),
    batching: text(form, 'batching') || undefined,
  };
}

/** `Name: value`, one a line; undefined where none is written. */
function headersOf(form: Form): Record<string, string> | undefined {
  const given = lines(form, 'headers');
  if (given.length === 0) return undefined;
  const members = given.map((line) => {
    const at = line.indexOf(':');
    return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return Object.fromEntries(members);
}

function held<S extends z.ZodType>(schema: S, data: unknown): z.output<S> {
  const checked = check(schema, data, 'body');
  if (!checked.ok) throw refusal(checked, 'body');
  return checked.value;
}

/** The payload format that a form says. @throws DomainError `INVALID_REQUEST` */
export function formatOf(form: Form) {
  const checked = check(payloadFormatSchema.nullable(), wishedFormat(form), 'body', '/payload_format');
  if (!checked.ok) throw refusal(checked, 'body');
  return checked.value;
}

function wishedFormat(form: Form): unknown {
  const kind = text(form, 'format');
  if (kind === '' || kind === 'standard') return null;
  if (kind !== 'custom') {
    const topic = text(form, 'topic').trim();
    return kind === 'ntfy' && topic !== '' ? { preset: kind, topic } : { preset: kind };
  }
  const fields = texts(form, 'fields');
  const isAll = PAYLOAD_FIELDS.every((field) => fields.includes(field));
  return {
    ...(isAll ? {} : { include: fields }),
    flatten: ticked(form, 'flatten'),
    custom: Object.fromEntries(lines(form, 'custom').map(memberOfLine)),
  };
}
