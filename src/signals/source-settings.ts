import type { AddressSet } from '../lib/network.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { NO_SETTINGS } from '../model/constants.ts';
import { invalidAt } from '../model/errors.ts';
import type { Source } from '../model/source.ts';
import {
  type GivenSettings,
  type PlainSettingName,
  SECRET_NAMES,
  SETTINGS_OF,
  type SecretName,
  type SettingName,
  type SourceKind,
  type SourceSettings,
} from '../model/source-settings.ts';
import { checkSite } from '../webhooks/targets.ts';

export interface SettingsParts {
  /** Addresses exempt from the public-address rule. */
  allowTargets: AddressSet;
  /** Keeps the keys of services. */
  secretBox: SecretBox;
}

const PLAIN_NAMES = Object.keys(NO_SETTINGS) as PlainSettingName[];

/** The settings that a kind has, changed by those that are given. @throws DomainError `INVALID_REQUEST` */
export function settingsOf(
  { allowTargets }: SettingsParts,
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
  if (missing !== undefined) throw invalidAt(`/${missing}`, `A source of kind "${kind}" needs it.`);
  if (kind === 'stackexchange' && settings.query === null && (settings.tagged ?? []).length === 0) {
    throw invalidAt('/tagged', 'Name at least one tag, or a "query": all questions of a site are too many.');
  }
  if (settings.url === null) return settings;
  const checked = checkSite(settings.url, allowTargets);
  if ('fault' in checked) throw invalidAt('/url', checked.fault);
  checked.url.hash = '';
  return { ...settings, url: checked.url.href };
}

/** The secrets that a source has, changed by those that are given: null takes one away. @throws DomainError `INVALID_REQUEST` */
export function secretsOf(
  { secretBox }: SettingsParts,
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
  if (missing !== undefined) throw invalidAt(`/${missing}`, `A source of kind "${kind}" needs it.`);
  return secrets;
}

/** The secrets of a source in the open, for the run that needs them. */
export function openSecrets(
  { secretBox }: Pick<SettingsParts, 'secretBox'>,
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
  const detail = `A source of kind "${kind}" has no "${stray}"; it takes ${listed(takes)}.`;
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
