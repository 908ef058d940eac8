import { beyondPlan, effectivePlan, planLimits } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { AddressSet } from '../lib/network.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { parseUrl } from '../lib/text.ts';
import { NO_SETTINGS } from '../model/constants.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import {
  type GivenSettings,
  NEVER_READ,
  type PlainSettingName,
  SECRET_NAMES,
  SETTINGS_OF,
  type SecretName,
  type SettingName,
  type Source,
  type SourceInput,
  type SourceKind,
  type SourcePatch,
  type SourceSettings,
} from '../model/source.ts';
import type { Tenant } from '../model/tenant.ts';
import { changeUntilItHolds, type Precondition, UNCONDITIONAL } from '../store/change-until-it-holds.ts';
import type { ProfileStore } from '../store/profile-store.ts';
import type { SourceStore } from '../store/source-store.ts';
import { checkSite } from '../webhooks/targets.ts';

interface SourceDeps extends SourceSettingsDeps {
  store: SourceStore & ProfileStore;
  clock: Clock;
  newId: NewId;
  /** Why robots.txt disallows a URL; null if it is allowed or unknown. Omitted if it cannot be checked. */
  refusalOf?: ((tenantId: string, url: string) => Promise<string | null>) | undefined;
}

/**
 * What a source would have found in the last 24 hours, with the text of the best post; or why that is
 * unknown.
 */
export type SourcePreview = { read: number; matched: number; best: string | null } | { fault: string };

/**
 * Creates a source; an active one is due immediately. @throws DomainError `CONFLICT`, `PLAN_REQUIRED`,
 * `INVALID_REQUEST`
 */
export async function createSource(deps: SourceDeps, tenant: Tenant, input: SourceInput): Promise<Source> {
  const { store, clock, newId } = deps;
  const now = clock.now();
  const id = newId('src');
  const settings = settingsOf(deps, input.kind, NO_SETTINGS, input);
  const secrets = secretsOf(deps, { id, kind: input.kind, secrets: {} }, input);
  await refuseUnknownProfiles(store, tenant.id, input.icp_profile_ids);
  await refuseForbidden(deps, { tenantId: tenant.id, kind: input.kind, settings });
  const source: Source = {
    id,
    tenantId: tenant.id,
    kind: input.kind,
    name: input.name,
    settings,
    secrets,
    profileIds: input.icp_profile_ids,
    intervalSeconds: input.interval_seconds,
    maxAgeDays: input.max_age_days,
    status: input.active ? 'active' : 'paused',
    nextPollAt: now,
    ...NEVER_READ,
    createdAt: now,
    updatedAt: now,
  };
  const plan = effectivePlan(tenant, now);
  const limit = planLimits(plan).sources;
  const outcome = await store.createSource(source, limit);
  if (outcome === 'created') return source;
  if (outcome === 'name_taken') throw nameTaken(source.name);
  throw beyondPlan(plan, { counted: 'sources', fact: `The ${plan} plan has at most ${limit} sources.` });
}

/**
 * Applies a patch. If the feed, query, site or board changes, the source is read from its start, immediately.
 * @throws DomainError `NOT_FOUND`, `CONFLICT` (name taken), `INVALID_REQUEST`
 */
export async function changeSource(
  deps: SourceDeps,
  tenantId: string,
  { id, patch, when = UNCONDITIONAL }: { id: string; patch: SourcePatch; when?: Precondition },
): Promise<Source> {
  const { store, clock } = deps;
  if (patch.icp_profile_ids !== undefined) {
    await refuseUnknownProfiles(store, tenantId, patch.icp_profile_ids);
  }
  return changeUntilItHolds('source', async () => {
    const current = await findSource(store, tenantId, id);
    when(current);
    const settings = settingsOf(deps, current.kind, current.settings, patch);
    const secrets = secretsOf(deps, current, patch);
    const next = patched(current, { ...patch, settings, secrets }, clock.now());
    if (next === current) return current;
    const restart = JSON.stringify(settings) !== JSON.stringify(current.settings);
    if (restart) await refuseForbidden(deps, { tenantId, kind: current.kind, settings });
    const outcome = await store.changeSource(next, restart);
    if (outcome === 'name_taken') throw nameTaken(next.name);
    // Read from the store, which may know more, such as a wait that the source requested.
    return outcome === 'changed' ? findSource(store, tenantId, id) : null;
  });
}

/**
 * Makes a source due immediately, or as soon as it may be read. @throws DomainError `NOT_FOUND`, `CONFLICT`
 * if it is paused
 */
export async function runSourceNow(
  { store, clock }: SourceDeps,
  tenantId: string,
  id: string,
): Promise<Source> {
  const asked = await store.runSource(tenantId, id, clock.now());
  const source = await findSource(store, tenantId, id);
  if (asked) return source;
  throw new DomainError('CONFLICT', 'The source is paused.', {
    hint: `Resume it: POST /v1/sources/${id}/resume`,
  });
}

/** Returns a source of the tenant. @throws DomainError `NOT_FOUND` */
export async function findSource(store: SourceStore, tenantId: string, id: string): Promise<Source> {
  const source = await store.getSource(tenantId, id);
  if (source === null) throw unknownSource(id);
  return source;
}

/** @throws DomainError `NOT_FOUND` */
export async function deleteSource(
  store: SourceStore,
  tenantId: string,
  id: string,
  when: Precondition = UNCONDITIONAL,
): Promise<void> {
  await changeUntilItHolds('source', async () => {
    const source = await findSource(store, tenantId, id);
    when(source);
    return (await store.deleteSource(tenantId, id, source.version)) || null;
  });
}

/** Applies a change to a source; returns the same object if nothing changes. */
function patched(
  current: Source,
  { settings, secrets, ...patch }: SourcePatch & Pick<Source, 'settings' | 'secrets'>,
  now: number,
): Source {
  const status = patch.active === undefined ? current.status : patch.active ? 'active' : 'paused';
  const wanted = {
    name: patch.name ?? current.name,
    settings,
    secrets,
    profileIds: patch.icp_profile_ids ?? current.profileIds,
    intervalSeconds: patch.interval_seconds ?? current.intervalSeconds,
    maxAgeDays: patch.max_age_days ?? current.maxAgeDays,
    status,
  } as const;
  const same = Object.entries(wanted).every(
    ([name, value]) => JSON.stringify(value) === JSON.stringify(current[name as keyof typeof wanted]),
  );
  if (same) return current;
  return {
    ...current,
    ...wanted,
    nextPollAt: nextPoll(current, wanted, now),
    updatedAt: now,
    version: current.version + 1,
  };
}

/**
 * Immediately if it reads something else or was resumed; with another interval, possibly sooner but never
 * later.
 */
function nextPoll(
  current: Source,
  wanted: Pick<Source, 'settings' | 'secrets' | 'status' | 'intervalSeconds'>,
  now: number,
): number {
  const other =
    JSON.stringify([wanted.settings, wanted.secrets]) !== JSON.stringify([current.settings, current.secrets]);
  if (other || (wanted.status === 'active' && current.status === 'paused')) return now;
  if (wanted.intervalSeconds === current.intervalSeconds) return current.nextPollAt;
  return Math.min(current.nextPollAt, now + wanted.intervalSeconds * 1_000);
}

/** Rejects a feed that its site forbids programs to read, and names the alternative. */
async function refuseForbidden(
  { refusalOf }: SourceDeps,
  { tenantId, kind, settings: { url } }: Pick<Source, 'tenantId' | 'kind' | 'settings'>,
): Promise<void> {
  if (kind !== 'rss' || url === null) return;
  const closed = closedPlaceAt(url);
  if (closed !== null) throw invalidAt('/url', closedPlaceWords(closed));
  if (refusalOf === undefined) return;
  const refusal = await refusalOf(tenantId, url);
  if (refusal !== null) throw invalidAt('/url', refusal);
}

async function refuseUnknownProfiles(store: ProfileStore, tenantId: string, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const known = new Set((await store.listProfiles(tenantId)).map((profile) => profile.id));
  const index = ids.findIndex((id) => !known.has(id));
  if (index >= 0) throw invalidAt(`/icp_profile_ids/${index}`, `There is no profile "${ids[index]}".`);
}

function nameTaken(name: string): DomainError {
  return new DomainError('CONFLICT', `A source called "${name}" already exists.`, {
    hint: 'Names must be unique, regardless of case. Choose another.',
  });
}

function unknownSource(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no source "${id}".`);
}

interface SourceSettingsDeps {
  /** Addresses exempt from the public-address rule. */
  allowTargets: AddressSet;
  /** Encrypts the credentials of services. */
  secretBox: SecretBox;
}

const PLAIN_NAMES = Object.keys(NO_SETTINGS) as PlainSettingName[];

/** Merges given settings into those of a source. @throws DomainError `INVALID_REQUEST` */
export function settingsOf(
  { allowTargets }: SourceSettingsDeps,
  kind: SourceKind,
  current: SourceSettings,
  given: GivenSettings,
): SourceSettings {
  const { needs, takes } = SETTINGS_OF[kind];
  refuseStray(kind, given);
  const settings = { ...current };
  for (const name of PLAIN_NAMES) {
    if (takes.includes(name) && given[name] !== undefined) Object.assign(settings, { [name]: given[name] });
  }
  const missing = PLAIN_NAMES.find((name) => needs.includes(name) && settings[name] === null);
  if (missing !== undefined) throw invalidAt(`/${missing}`, `Required for a source of kind "${kind}".`);
  if (kind === 'stackexchange' && settings.query === null && (settings.tagged ?? []).length === 0) {
    throw invalidAt('/tagged', 'Set at least one tag or a "query": a whole site has too many questions.');
  }
  if (settings.url === null) return settings;
  const checked = checkSite(settings.url, allowTargets);
  if ('fault' in checked) throw invalidAt('/url', checked.fault);
  checked.url.hash = '';
  return { ...settings, url: checked.url.href };
}

/** Merges given secrets into those of a source; null removes one. @throws DomainError `INVALID_REQUEST` */
function secretsOf(
  { secretBox }: SourceSettingsDeps,
  { id, kind, secrets: current }: Pick<Source, 'id' | 'kind' | 'secrets'>,
  given: GivenSettings,
): Source['secrets'] {
  const secrets = { ...current };
  for (const name of SECRET_NAMES) {
    const value = given[name];
    if (value === null) delete secrets[name];
    else if (value !== undefined) {
      secrets[name] = secretBox.seal(value, contextOf(id, name)).toString('base64');
    }
  }
  const missing = SETTINGS_OF[kind].needs.find((name) => isSecret(name) && secrets[name] === undefined);
  if (missing !== undefined) throw invalidAt(`/${missing}`, `Required for a source of kind "${kind}".`);
  return secrets;
}

/** Decrypts the secrets of a source, for a run that needs them. */
export function openSecrets(
  { secretBox }: Pick<SourceSettingsDeps, 'secretBox'>,
  { id, secrets }: Pick<Source, 'id' | 'secrets'>,
): Partial<Record<SecretName, string>> {
  const opened: Partial<Record<SecretName, string>> = {};
  for (const name of SECRET_NAMES) {
    const sealed = secrets[name];
    if (sealed !== undefined)
      opened[name] = secretBox.open(Buffer.from(sealed, 'base64'), contextOf(id, name));
  }
  return opened;
}

function refuseStray(kind: SourceKind, given: GivenSettings): void {
  const { takes } = SETTINGS_OF[kind];
  const stray = [...PLAIN_NAMES, ...SECRET_NAMES].find(
    (name) => (given[name] ?? null) !== null && !takes.includes(name),
  );
  if (stray === undefined) return;
  const detail = `A source of kind "${kind}" does not take "${stray}". It takes ${listed(takes)}.`;
  throw invalidAt(`/${stray}`, detail);
}

function isSecret(name: SettingName): name is SecretName {
  return SECRET_NAMES.some((secret) => secret === name);
}

function contextOf(id: string, name: SecretName): string {
  return `source/${id}/${name}`;
}

function listed(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

/** Sites whose terms or robots.txt forbid reading by programs without permission, with their names. */
const CLOSED: [host: RegExp, name: string][] = [
  [/(^|\.)linkedin\.com$/, 'LinkedIn'],
  [/(^|\.)(?:facebook|fb)\.com$/, 'Facebook'],
  [/(^|\.)instagram\.com$/, 'Instagram'],
  [/(^|\.)threads\.(?:net|com)$/, 'Threads'],
  [/(^|\.)(?:x|twitter)\.com$|^t\.co$/, 'X'],
  [/(^|\.)tiktok\.com$/, 'TikTok'],
  [/(^|\.)quora\.com$/, 'Quora'],
  [/(^|\.)nextdoor\.(?:com|co\.uk)$/, 'Nextdoor'],
  [/(^|\.)(?:g2|g2crowd)\.com$/, 'G2'],
  [/(^|\.)capterra\.(?:com|co\.uk|de|fr)$/, 'Capterra'],
  [/(^|\.)glassdoor\.(?:com|co\.uk|de)$/, 'Glassdoor'],
  [/(^|\.)indeed\.com$/, 'Indeed'],
  [/(^|\.)(?:youtube\.com|youtu\.be)$/, 'YouTube'],
  [/(^|\.)trustpilot\.com$/, 'Trustpilot'],
  [/(^|\.)(?:discord\.com|discord\.gg)$/, 'Discord'],
  [/(^|\.)slack\.com$/, 'Slack'],
  [/(^|\.)whatsapp\.com$/, 'WhatsApp'],
  [/(^|\.)(?:telegram\.org|t\.me)$/, 'Telegram'],
];

/** The name of the site at a URL if programs may not read it; otherwise null. */
export function closedPlaceAt(address: string): string | null {
  const host = parseUrl(address)?.hostname ?? '';
  return CLOSED.find(([pattern]) => pattern.test(host))?.[1] ?? null;
}

/** Why such a site cannot be read, and how to send its posts instead. */
export function closedPlaceWords(name: string): string {
  return `${name} does not let programs read its posts, so no source can. Send the posts you see there with POST /v1/signals, or import a file with "signalpost import FILE".`;
}
