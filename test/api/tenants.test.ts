import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SCOPES, type Scope } from '../../src/model/key.ts';
import { createGuide } from '../support/api-tour.ts';
import { visitEverything } from '../support/api-visits.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { sendTestToNobody } from '../support/fake-receiver.ts';
import { idsFor, idsIn } from '../support/id-kinds.ts';
import { type Description, type Operation, readDescription } from '../support/openapi.ts';
import { readRows } from '../support/table-rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'signalpost-tenants-'));
const file = join(folder, 'signalpost.db');

let t: TestApp;
let description: Description;
/** Every id in the visited tenant's responses. */
let ids: string[];
beforeAll(async () => {
  t = await buildTestApp({ file, env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' }, sendTest: sendTestToNobody });
  description = await readDescription(t.app);
  const guide = createGuide(t);
  await visitEverything(guide);
  ids = idsIn(JSON.stringify(guide.examples));
});
afterAll(async () => {
  await t.app.close();
  rmSync(folder, { recursive: true });
});

function foreignAddress(path: string): string {
  const [id] = idsFor(path, ids);
  if (id === undefined) throw new Error(`${path}: no id of its kind was seen; make one in the tour`);
  return path.replace(/\{\w+\}/, id);
}

function send({ method, body }: Operation, url: string, headers: Record<string, string>) {
  const payload = body === null ? {} : { payload: body.example as object };
  return t.app.inject({ method: method as 'GET', url, headers, ...payload });
}

const named = (operations: Operation[]) =>
  operations.map((one) => [`${one.method} ${one.path}`, one] as const);

describe("another tenant's real id", () => {
  test('is 404 on every route that takes one, like an unknown id, and nothing changes', async () => {
    const { auth } = await t.addTenant('enterprise');
    const before = readRows(file);
    const found: string[] = [];
    for (const [name, operation] of named(description.operations.filter(({ path }) => path.includes('{')))) {
      const answer = await send(operation, foreignAddress(operation.path), auth);
      const { code, detail } = answer.json();
      if (answer.statusCode !== 404 || code !== 'NOT_FOUND')
        found.push(`${name}: ${answer.statusCode} ${code}`);
      const unknown = await send(operation, operation.path.replace(/\{\w+\}/, 'xxx_unknown'), auth);
      const strip = (text: string, path: string) => text.replaceAll(path, '');
      const ours = foreignAddress(operation.path).split('/')[3] ?? '';
      if (strip(detail, ours) !== strip(unknown.json().detail, 'xxx_unknown')) {
        found.push(`${name}: tells a foreign id from an unknown one: ${detail}`);
      }
    }
    expect(found).toEqual([]);
    expect(readRows(file)).toEqual(before);
  });

  test('appears in no list', async () => {
    const { auth } = await t.addTenant('enterprise');
    const seen: string[] = [];
    for (const [name, operation] of named(description.operations)) {
      if (operation.method !== 'GET' || operation.path.includes('{')) continue;
      const { body } = await send(operation, operation.path, auth);
      seen.push(...ids.filter((id) => body.includes(id)).map((id) => `${name}: ${id}`));
    }
    expect(seen).toEqual([]);
  });
});

describe("another tenant's real id within a request", () => {
  const post = { platform: { name: 'reddit' }, text: 'Looking for a CRM' };
  const mine = (kind: string) => idsFor(`/v1/${kind}/{id}`, ids)[0] ?? '';

  test.each<[string, () => object]>([
    ['POST /v1/signals', () => ({ ...post, icp_profile_id: mine('icps') })],
    ['POST /v1/signals/batch', () => ({ signals: [{ ...post, icp_profile_id: mine('icps') }] })],
    ['POST /v1/leads', () => ({ email: 'eve@other.com', signal_ids: [mine('signals')] })],
    ['POST /v1/leads', () => ({ signal: { ...post, icp_profile_id: mine('icps') } })],
    ['POST /v1/leads/batch', () => ({ leads: [{ email: 'eve@other.com', signal_ids: [mine('signals')] }] })],
    ['POST /v1/webhooks', () => ({ url: 'https://127.0.0.1:8443/', icp_profile_ids: [mine('icps')] })],
    ['POST /v1/webhooks/preview', () => ({ signal_id: mine('signals') })],
    ['POST /v1/icps/preview', () => ({ icp_profile_id: mine('icps') })],
  ])('is rejected as unknown: %s', async (target, body) => {
    const { tenant, auth } = await t.addTenant('enterprise');
    const [method, url] = target.split(' ') as ['POST', string];
    const before = rowsOfOthers(tenant.id);
    const answer = await t.app.inject({ method, url, headers: auth, payload: body() });
    const refused = answer.statusCode === 400 || answer.statusCode === 404;
    expect(refused || answer.json().data.results[0].status === 'rejected').toBe(true);
    expect(rowsOfOthers(tenant.id)).toEqual(before);
  });

  test('of a lead is rejected in campaign events', async () => {
    const { tenant, auth } = await t.addTenant('enterprise');
    const made = await t.app.inject({
      method: 'POST',
      url: '/v1/campaigns',
      headers: auth,
      payload: { name: 'x' },
    });
    const before = rowsOfOthers(tenant.id);
    const event = {
      event_id: 'e1',
      type: 'sent',
      occurred_at: '2026-01-01T00:00:00Z',
      lead_id: mine('leads'),
    };
    const url = `/v1/campaigns/${made.json().data.id}/events`;
    const answer = await t.app.inject({ method: 'POST', url, headers: auth, payload: { events: [event] } });
    expect(answer.json().data.results[0].status).toBe('rejected');
    expect(rowsOfOthers(tenant.id)).toEqual(before);
  });

  /** The rows of all tenants but one. */
  function rowsOfOthers(tenantId: string): string[] {
    return Object.values(readRows(file))
      .flat()
      .filter((row) => !row.includes(tenantId) && row.includes('"tenant_id"'));
  }
});

describe('every route', () => {
  const guarded = () => named(description.operations.filter(({ needsKey }) => needsKey));

  /** A URL with existing ids, so that only the key can be the reason for an error. */
  const address = ({ path }: Operation) => (path.includes('{') ? foreignAddress(path) : path);

  test('rejects a request without a key before anything else', async () => {
    const before = readRows(file);
    const open: string[] = [];
    for (const [name, operation] of guarded()) {
      const answer = await send(operation, address(operation), {});
      if (answer.statusCode !== 401) open.push(`${name}: ${answer.statusCode}`);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
    }
    expect(open).toEqual([]);
    expect(readRows(file)).toEqual(before);
  });

  test('rejects a key that has every scope but the required one', async () => {
    const open: string[] = [];
    for (const [name, operation] of guarded()) {
      const { scope } = operation;
      if (scope === null) continue;
      const others = SCOPES.filter((one) => one !== scope && one !== scope.replace(/:read$/, ':write'));
      const { auth } = await t.addKey({ scopes: others });
      const before = readRows(file);
      const answer = await send(operation, address(operation), auth);
      const { code, required_scope } = answer.json();
      if (answer.statusCode !== 403 || code !== 'INSUFFICIENT_SCOPE' || required_scope !== scope) {
        open.push(`${name}: ${answer.statusCode} ${code} ${required_scope}`);
      }
      expect(readRows(file)).toEqual(before);
    }
    expect(open).toEqual([]);
  });

  test('accepts a key that has only the required scope', async () => {
    const shut: string[] = [];
    for (const [name, operation] of guarded()) {
      if (operation.method !== 'GET') continue;
      const { auth } = await t.addKey({ scopes: operation.scope === null ? [] : [operation.scope as Scope] });
      const answer = await send(operation, address(operation), auth);
      if (answer.statusCode !== 200 && answer.statusCode !== 404) shut.push(`${name}: ${answer.statusCode}`);
    }
    expect(shut).toEqual([]);
  });
});
