import { SOURCE_KINDS } from './model/source.ts';

/** Kinds that are read at the address they are given; there is nothing to point elsewhere. */
const OWN_ADDRESS = ['rss', 'discourse', 'lemmy', 'mastodon'];
const KINDS = SOURCE_KINDS.filter((kind) => !OWN_ADDRESS.includes(kind));

/** `SOURCE_SITES` as kinds and their base addresses; what is wrong with it goes into `faults`. */
export function readSites(
  name: string,
  value: string | null,
  faults: string[],
): Partial<Record<string, string>> {
  if (value === null) return {};
  const given = parsed(value);
  if (given === null) {
    faults.push(`${name}: must be a JSON object, e.g. {"github":"https://github-mirror.example.com"}.`);
    return {};
  }
  const sites: Partial<Record<string, string>> = {};
  for (const [kind, base] of Object.entries(given)) {
    if (!KINDS.some((known) => known === kind)) {
      faults.push(`${name}: "${kind}" is not a kind whose site can be set; use one of ${KINDS.join(', ')}.`);
    } else if (typeof base !== 'string' || !/^https?:$/.test(URL.parse(base)?.protocol ?? '')) {
      faults.push(`${name}: the address of "${kind}" must start with http:// or https://.`);
    } else sites[kind] = base.replace(/\/+$/, '');
  }
  return sites;
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
