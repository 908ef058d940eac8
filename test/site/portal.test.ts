import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CLASSIFICATIONS, STAGES } from '../../src/model/constants.ts';
import { DELIVERY_STATUSES } from '../../src/model/delivery.ts';
import { EVENT_TYPES } from '../../src/model/event.ts';
import { SCOPES } from '../../src/model/key.ts';
import { SIGNAL_TYPES } from '../../src/model/signal.ts';
import { PAUSED_REASONS, webhookCreateSchema } from '../../src/model/webhook.ts';

const guide = (name: string) =>
  readFileSync(new URL(`../../content/developers/${name}.md`, import.meta.url), 'utf8');
const GUIDES = [
  'index',
  'quick-start',
  'signal-api',
  'webhooks',
  'polling',
  'site-api',
  'errors',
  'rate-limits',
  'versioning',
];

/** `GET /v1/leads/{}`: the guides use other parameter names. */
const plain = (route: string) => route.replace(/\{[^}]+\}/g, '{}');

function describedRoutes(): Set<string> {
  const file = new URL('../../openapi/v1.json', import.meta.url);
  const { paths }: { paths: Record<string, object> } = JSON.parse(readFileSync(file, 'utf8'));
  return new Set(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => plain(`${method.toUpperCase()} ${path}`)),
    ),
  );
}

test('every route named in the guides exists in the API', () => {
  const routes = describedRoutes();
  const named = GUIDES.flatMap((name) =>
    [...guide(name).matchAll(/`((?:GET|POST|PUT|PATCH|DELETE) \/v1\/[^\s`?]*)`/g)].map(
      ([, route = '']) => route,
    ),
  );
  expect(named.length).toBeGreaterThan(30);
  for (const route of named) expect.soft(routes, route).toContain(plain(route));
});

test.each([
  ['webhooks', 'event', EVENT_TYPES],
  ['webhooks', 'setting of an endpoint', Object.keys(webhookCreateSchema.shape)],
  ['webhooks', 'status of a delivery', DELIVERY_STATUSES],
  ['webhooks', 'reason of a pause', PAUSED_REASONS],
  ['signal-api', 'stage', STAGES],
  ['signal-api', 'type of signals', SIGNAL_TYPES],
  ['signal-api', 'class of signals', CLASSIFICATIONS],
  ['signal-api', 'resource of scopes', [...new Set(SCOPES.map((scope) => scope.split(':')[0]))]],
] as const)('the guide to %s names every %s', (name, _what, words) => {
  const text = guide(name);
  for (const word of words) expect.soft(text, word).toContain(`\`${word}\``);
});
