import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { TOOLS } from '../../src/mcp/server.ts';
import { SCOPES } from '../../src/model/key.ts';
import { MCP_EVENT_NAMES } from '../../src/model/mcp.ts';
import { makeDigests } from '../../src/webhooks/digests.ts';
import { createGuide } from '../support/api-tour.ts';
import { visitEverything } from '../support/api-visits.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { idsFor, idsIn } from '../support/id-kinds.ts';
import { askMcp, connectMcp, echoChallenge } from '../support/mcp.ts';
import { readRows } from '../support/table-rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'signalpost-mcp-tenants-'));
const file = join(folder, 'signalpost.db');

let t: TestApp;
/** Every ID in the responses for the other tenant. */
let ids: string[];
beforeAll(async () => {
  t = await buildTestApp({ file, env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' }, sendTest: echoChallenge });
  const guide = createGuide(t);
  await visitEverything(guide);
  ids = idsIn(JSON.stringify(guide.examples));
});
afterAll(async () => {
  await t.app.close();
  rmSync(folder, { recursive: true });
});

const mine = (kind: string) => idsFor(`/v1/${kind}/{id}`, ids)[0] ?? '';

/** For every tool that takes an ID, arguments with one of the other tenant. */
const WITH_IDS = (): Record<string, Record<string, unknown>> => ({
  get_signal: { signal_id: mine('signals') },
  get_lead: { lead_id: mine('leads') },
  get_company: { company: mine('companies') },
  rate_signal: { signal_id: mine('signals'), relevant: true },
  update_lead: { lead_id: mine('leads'), title: 'x' },
  resend_delivery: { delivery_id: mine('deliveries') },
});

describe("another tenant's ID", () => {
  test('is unknown to every tool that takes one, and nothing changes', async () => {
    const { auth } = await t.addTenant('enterprise');
    const client = await connectMcp(t.app, auth);
    const cases = Object.entries(WITH_IDS());
    const named = TOOLS.filter(({ listed }) => JSON.stringify(listed.inputSchema.required ?? []) !== '[]');
    expect(cases.map(([name]) => name)).toEqual(named.map(({ listed }) => listed.name));
    const before = readRows(file);
    for (const [name, args] of cases) {
      expect(Object.values(args)[0], name).not.toBe('');
      const result = await client.callTool({ name, arguments: args });
      expect(result, name).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^NOT_FOUND/) }],
      });
    }
    expect(readRows(file)).toEqual(before);
  });

  test('is in no list, and matches nothing as a filter', async () => {
    const { auth } = await t.addTenant('enterprise');
    const client = await connectMcp(t.app, auth);
    const filters: Record<string, object> = {
      search_signals: { profile: mine('icps') },
      list_deliveries: { webhook_id: mine('webhooks') },
    };
    for (const { listed } of TOOLS) {
      if (listed.inputSchema.required !== undefined || !listed.annotations.readOnlyHint) continue;
      for (const args of [{}, filters[listed.name] ?? {}]) {
        const result = JSON.stringify(await client.callTool({ name: listed.name, arguments: { ...args } }));
        expect(
          ids.filter((id) => result.includes(`"${id}"`)),
          listed.name,
        ).toEqual([]);
      }
    }
  });

  test('is no resource, like an unknown one', async () => {
    const { auth } = await t.addTenant('enterprise');
    const client = await connectMcp(t.app, auth);
    const { resourceTemplates } = await client.listResourceTemplates();
    for (const { name: kind } of resourceTemplates) {
      const id = mine(`${kind}s`);
      expect(id, kind).not.toBe('');
      const of = (name: string) =>
        client.readResource({ uri: `signalpost://${kind}/${name}` }).then(String, String);
      expect((await of(id)).replaceAll(id, '')).toBe((await of('xxx_unknown')).replaceAll('xxx_unknown', ''));
    }
  });
});

describe("another tenant's events", () => {
  const delivery = (n: number) => ({
    ...{ mode: 'webhook', url: `https://127.0.0.1:8443/${n}` },
    secret: `whsec_${Buffer.alloc(24, 3).toString('base64')}`,
  });
  interface Polled {
    events: unknown[];
    cursor: string;
  }

  /** Subscribes to and polls every event; `seen` collects those received. */
  async function follow({ tenant, auth }: { tenant: { id: string }; auth: { authorization: string } }) {
    const client = await connectMcp(t.app, auth);
    const ids: string[] = [];
    const cursors: string[] = [];
    for (const [n, name] of MCP_EVENT_NAMES.entries()) {
      const made = await askMcp(client, 'events/subscribe', { name, delivery: delivery(n), ttlMs: null });
      ids.push(made.id ?? '');
      cursors.push((await askMcp<Polled>(client, 'events/poll', { name })).cursor);
    }
    const before = new Set((await deliveriesOf(tenant.id)).map(({ id }) => id));
    const seen = async () => {
      const pushed = (await deliveriesOf(tenant.id)).filter(({ id }) => !before.has(id));
      const polled = MCP_EVENT_NAMES.map((name, n) =>
        askMcp<Polled>(client, 'events/poll', { name, cursor: cursors[n] }),
      );
      return {
        pushed: new Set(pushed.map(({ eventType }) => eventType)),
        polled: (await Promise.all(polled)).flatMap(({ events }, n) =>
          events.length > 0 ? (MCP_EVENT_NAMES[n] ?? []) : [],
        ),
      };
    };
    return { client, ids, cursors, seen };
  }

  async function deliveriesOf(tenantId: string) {
    const filters = { status: null, endpointId: null, eventType: null, eventId: null, from: null, to: null };
    const all = (await t.store.listDeliveries(tenantId, { ...filters, limit: 100, after: null })).rows;
    const webhooks = idsFor('/v1/webhooks/{id}', ids);
    return all.filter(({ endpointId }) => !webhooks.includes(endpointId));
  }

  test('reach no subscription and no poll; IDs and cursors of other tenants are useless', async () => {
    const digest = { store: t.store, clock: t.clock, newId: createIds(t.clock, systemRandom), baseUrl: '' };
    await makeDigests(digest);
    const home = await follow(t);
    const stranger = await follow(await t.addTenant('enterprise'));
    const call = async (method: 'POST' | 'PUT', url: string, payload: object) =>
      (await t.app.inject({ method, url, headers: t.auth, payload })).json().data;
    const text =
      'Urgent: looking for HVAC scheduling software, budget approved, must buy this week. Which one do you use?';
    const { signals } = await call('POST', '/v1/signals', { text, platform: { name: 'reddit' } });
    const lead = await call('POST', '/v1/leads', {
      signal_ids: [signals[0].signal_id],
      email: 'new@example.com',
    });
    await call('PUT', `/v1/pipeline/${lead.id}/stage`, { stage: 'engaged' });
    // A digest lists signals that nobody has dealt with.
    await call('POST', '/v1/signals', { text: `${text} We have 40 vans.`, platform: { name: 'hackernews' } });
    t.clock.advance(2 * 86_400_000);
    await makeDigests(digest);

    const own = await home.seen();
    expect(own.polled).toEqual(MCP_EVENT_NAMES);
    expect(own.pushed).toEqual(new Set(MCP_EVENT_NAMES));
    expect(await stranger.seen()).toEqual({ pushed: new Set(), polled: [] });

    for (const [n, name] of MCP_EVENT_NAMES.entries()) {
      const refused = (params: object) =>
        askMcp(stranger.client, 'events/poll', { name, ...params }).then(String, String);
      expect(await refused({ cursor: home.cursors[n] }), name).toContain('another account');
      const profile = (id: string) =>
        askMcp(stranger.client, 'events/subscribe', {
          ...{ name, delivery: delivery(9), arguments: { icp_profile_id: id } },
        }).then(String, String);
      const unknown = await profile('icp_unknown');
      expect((await profile(mine('icps'))).replaceAll(mine('icps'), 'icp_unknown'), name).toBe(unknown);
      await askMcp(stranger.client, 'events/unsubscribe', { id: home.ids[n] });
      expect(await t.store.findSubscription(t.tenant.id, home.ids[n] ?? ''), name).not.toBeNull();
    }
  });
});

test('a tool requires exactly its own scope', async () => {
  for (const { listed, scope } of TOOLS) {
    const others = SCOPES.filter((one) => one !== scope && one !== scope.replace(/:read$/, ':write'));
    const shut = await connectMcp(t.app, (await t.addKey({ scopes: others })).auth);
    expect((await shut.listTools()).tools.map(({ name }) => name)).not.toContain(listed.name);
    await expect(shut.callTool({ name: listed.name, arguments: {} })).rejects.toThrow(scope);
    const open = await connectMcp(t.app, (await t.addKey({ scopes: [scope] })).auth);
    expect((await open.listTools()).tools.map(({ name }) => name)).toContain(listed.name);
    const args = WITH_IDS()[listed.name] ?? {};
    if (listed.annotations.readOnlyHint) {
      expect((await open.callTool({ name: listed.name, arguments: args })).isError, listed.name).toBeFalsy();
    }
  }
});
