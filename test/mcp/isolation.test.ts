import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOOLS } from '../../src/mcp/tools.ts';
import { SCOPES } from '../../src/model/key.ts';
import { createGuide } from '../support/api-tour.ts';
import { visitEverything } from '../support/api-visits.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { sendTestToNobody } from '../support/fake-receiver.ts';
import { idsFor, idsIn } from '../support/id-kinds.ts';
import { connectMcp } from '../support/mcp.ts';
import { readRows } from '../support/table-rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'signalpost-mcp-tenants-'));
const file = join(folder, 'signalpost.db');

let t: TestApp;
/** Every id that the visited tenant's answers hold. */
let ids: string[];
beforeAll(async () => {
  t = await buildTestApp({ file, env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' }, sendTest: sendTestToNobody });
  const guide = createGuide(t);
  await visitEverything(guide);
  ids = idsIn(JSON.stringify(guide.examples));
});
afterAll(async () => {
  await t.app.close();
  rmSync(folder, { recursive: true });
});

const mine = (kind: string) => idsFor(`/v1/${kind}/{id}`, ids)[0] ?? '';

/** For every tool that names something, the arguments with an id of the visited tenant. */
const WITH_IDS = (): Record<string, Record<string, unknown>> => ({
  get_signal: { signal_id: mine('signals') },
  get_lead: { lead_id: mine('leads') },
  get_company: { company: mine('companies') },
  rate_signal: { signal_id: mine('signals'), relevant: true },
  update_lead: { lead_id: mine('leads'), title: 'x' },
  resend_delivery: { delivery_id: mine('deliveries') },
});

describe("another tenant's real id", () => {
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

  test('is in no list, and as a filter lets nothing through', async () => {
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

  test('is no resource, as an unknown one', async () => {
    const { auth } = await t.addTenant('enterprise');
    const client = await connectMcp(t.app, auth);
    for (const [kind, id] of [
      ['signal', mine('signals')],
      ['lead', mine('leads')],
      ['icp', mine('icps')],
    ] as const) {
      expect(id).not.toBe('');
      const of = (name: string) =>
        client.readResource({ uri: `signalpost://${kind}/${name}` }).then(String, String);
      expect((await of(id)).replaceAll(id, '')).toBe((await of('xxx_unknown')).replaceAll('xxx_unknown', ''));
    }
  });
});

test('a tool is closed to a key that has every scope but its own, and open to one with it alone', async () => {
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
