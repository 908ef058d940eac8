import type { Clock } from '../lib/clock.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import type { Settings, SettingsPatch, TenantSettings } from '../model/tenant.ts';
import { dueAfterChange } from '../rules/digest-time.ts';
import type { TeamStore } from '../store/account-store.ts';
import type { DigestStore } from '../store/mail-store.ts';
import type { ProfileStore } from '../store/profile-store.ts';
import type { SignalStore } from '../store/signal-store.ts';

interface ReadDeps {
  store: DigestStore & Pick<TeamStore, 'listMembers'>;
}

interface SettingsDeps {
  store: ReadDeps['store'] & Pick<SignalStore, 'storedPosition'> & Pick<ProfileStore, 'listProfiles'>;
  clock: Clock;
}

/** The tenant's settings as the API returns them. @throws DomainError `NOT_FOUND` */
export async function readSettings({ store }: ReadDeps, tenantId: string): Promise<Settings> {
  const [{ timezone, digest }, members, readers] = await Promise.all([
    storedSettings(store, tenantId),
    store.listMembers(tenantId),
    store.digestReaders(tenantId),
  ]);
  const recipients = members.filter(({ id }) => readers.includes(id)).map(({ email }) => email);
  return { timezone, digest: { ...digest, recipients } };
}

async function storedSettings(store: DigestStore, tenantId: string): Promise<TenantSettings> {
  const settings = await store.getSettings(tenantId);
  if (settings === null) throw new DomainError('NOT_FOUND', `There is no tenant "${tenantId}".`);
  return settings;
}

/**
 * Applies the given changes. A digest that is due in the current hour is created at once, unless one was created
 * today; one that is switched on covers what is found from then on.
 * @throws DomainError `INVALID_REQUEST` (unknown profile or member)
 */
export async function changeSettings(
  { store, clock }: SettingsDeps,
  tenantId: string,
  patch: SettingsPatch,
): Promise<Settings> {
  const before = await storedSettings(store, tenantId);
  const now = clock.now();
  const { recipients, ...choices } = patch.digest ?? {};
  const given = Object.entries(choices).filter(([, value]) => value !== undefined);
  const digest: TenantSettings['digest'] = { ...before.digest, ...Object.fromEntries(given) };
  const wanted = recipients === undefined ? null : await membersAt(store, tenantId, recipients);
  await refuseUnknownProfiles(store, tenantId, patch.digest?.icp_profile_ids ?? []);
  const timezone = patch.timezone ?? before.timezone;
  const after = { ...before, timezone, digest };
  const isOtherTime =
    timezone !== before.timezone ||
    digest.hour !== before.digest.hour ||
    digest.frequency !== before.digest.frequency;
  const isSwitchedOn = digest.enabled && !before.digest.enabled;
  if (isOtherTime || isSwitchedOn) {
    after.digestDueAt = dueAfterChange(now, { timezone, ...digest }, before.digestMadeAt);
  }
  if (isSwitchedOn || after.digestSince === null) {
    after.digestSince = now;
    after.digestPosition = await store.storedPosition(tenantId);
  }
  await store.saveSettings(after);
  for (const [userId, isWanted] of wanted ?? []) await store.setDigestReader(tenantId, userId, isWanted);
  return readSettings({ store }, tenantId);
}

/** Whether each member is among those addresses. @throws DomainError `INVALID_REQUEST` */
async function membersAt(
  store: Pick<TeamStore, 'listMembers'>,
  tenantId: string,
  emails: readonly string[],
): Promise<[userId: string, isNamed: boolean][]> {
  const members = await store.listMembers(tenantId);
  const known = new Set(members.map(({ email }) => email.toLowerCase()));
  const index = emails.findIndex((email) => !known.has(email.toLowerCase()));
  if (index >= 0) {
    throw invalidAt(`/digest/recipients/${index}`, `"${emails[index]}" is not a member of this account.`);
  }
  const named = new Set(emails.map((email) => email.toLowerCase()));
  return members.map(({ id, email }) => [id, named.has(email.toLowerCase())]);
}

async function refuseUnknownProfiles(
  store: Pick<ProfileStore, 'listProfiles'>,
  tenantId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const known = new Set((await store.listProfiles(tenantId)).map(({ id }) => id));
  const index = ids.findIndex((id) => !known.has(id));
  if (index >= 0) throw invalidAt(`/digest/icp_profile_ids/${index}`, `There is no profile "${ids[index]}".`);
}
