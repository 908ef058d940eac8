/** The ID prefix for the paths of each collection. */
const PREFIXES: Record<string, string> = {
  '/v1/signals': 'sig',
  '/v1/webhooks': 'whk',
  '/v1/keys': 'key',
  '/v1/campaigns': 'cam',
  '/v1/leads': 'led',
  '/v1/pipeline': 'led',
  '/v1/companies': 'cmp',
  '/v1/icps': 'icp',
  '/v1/sources': 'src',
  '/v1/deliveries': 'dlv',
  '/v1/dead-letters': 'dlv',
  '/v1/events': 'evt',
  '/v1/jobs': 'job',
};

/** Every ID in a JSON text, without duplicates. */
export function idsIn(text: string): string[] {
  return [...new Set([...text.matchAll(/"([a-z]{3}_[0-9a-z]{25})"/g)].map(([, id = '']) => id))];
}

/** Those of `ids` that fit the parameter of a path, by the part before the parameter. */
export function idsFor(path: string, ids: readonly string[]): string[] {
  const prefix = PREFIXES[path.slice(0, path.indexOf('/{'))];
  return ids.filter((id) => id.startsWith(`${prefix}_`));
}
