import type { Clock } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { Settings, SettingsPatch, TenantSettings } from '../model/tenant.ts';
import { dueAfterChange } from '../rules/digest-time.ts';
import type { DigestStore } from '../store/digest-store.ts';
import type { SignalStore } from '../store/signal-store.ts';

interface SettingsParts {
  store: DigestStore & Pick<SignalStore, 'storedPosition'>;
  clock: Clock;
}

/** What the tenant has settled. @throws DomainError `NOT_FOUND` */
export async function readSettings(
  { store }: { store: DigestStore },
  tenantId: string,
): Promise<TenantSettings> {
  const settings = await store.getSettings(tenantId);
  if (settings === null) throw new DomainError('NOT_FOUND', `There is no tenant "${tenantId}".`);
  return settings;
}

/**
 * Changes what is given and keeps the rest. A digest that is due at the present hour is made at once, unless one was made
 * today; one that is switched on tells of what is found from then on.
 */
export async function changeSettings(
  { store, clock }: SettingsParts,
  tenantId: string,
  patch: SettingsPatch,
): Promise<TenantSettings> {
  const before = await readSettings({ store }, tenantId);
  const now = clock.now();
  const digest = {
    enabled: patch.digest?.enabled ?? before.digest.enabled,
    hour: patch.digest?.hour ?? before.digest.hour,
  };
  const timezone = patch.timezone ?? before.timezone;
  const after = { ...before, timezone, digest };
  const isOtherTime = timezone !== before.timezone || digest.hour !== before.digest.hour;
  const isSwitchedOn = digest.enabled && !before.digest.enabled;
  if (isOtherTime || isSwitchedOn) {
    after.digestDueAt = dueAfterChange(now, { timezone, hour: digest.hour }, before.digestMadeAt);
  }
  if (isSwitchedOn || after.digestSince === null) {
    after.digestSince = now;
    after.digestPosition = await store.storedPosition(tenantId);
  }
  await store.saveSettings(after);
  return after;
}

/** Settings as every answer shows them. */
export function settingsResource({ timezone, digest }: TenantSettings): Settings {
  return { timezone, digest };
}
