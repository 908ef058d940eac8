import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { composeMail } from '../../src/accounts/compose-mail.ts';
import { createFeedbackLinks } from '../../src/accounts/feedback-links.ts';
import { createCursors } from '../../src/lib/cursor.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import { digestDataSchema } from '../../src/model/event-resource.ts';
import { makeDigests } from '../../src/webhooks/digests.ts';
import { aPost } from '../support/app.ts';
import { anotherPost, buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';

const HOUR_MS = 3_600_000;
const baseUrl = 'https://signals.example.com';

let t: WebhookApp;
let ids = 0;
beforeEach(async () => {
  t = await buildWebhookApp(); // at midnight, UTC
  await make(); // plans the first one
});
afterEach(() => t.app.close());

const make = () => {
  const { store, clock } = t;
  return makeDigests({ store, clock, baseUrl, newId: (prefix) => `${prefix}_digest${ids++}` });
};
const digests = async () => (await t.call('GET', '/v1/events?type=digest.ready')).json().data;

describe('the daily digest', () => {
  test('is made at its hour, once, of what was found: event, delivery and mail', async () => {
    const { id } = await t.addWebhook({ event_types: ['digest.ready'] });
    for (let i = 0; i < 25; i++) await t.call('POST', '/v1/signals', anotherPost(i));
    t.clock.advance(8 * HOUR_MS - 1);
    await make();
    expect(await digests()).toEqual([]);
    t.clock.advance(1);
    t.nudged.length = 0;
    await make();
    await make();
    const [event, ...others] = await digests();
    expect(others).toEqual([]);
    const data = digestDataSchema.parse(event.data);
    expect(data).toMatchObject({ date: '2026-01-01', timezone: 'UTC' });
    expect(data.counts.hot + data.counts.warm).toBe(25);
    expect(data.signals).toHaveLength(20);
    expect(t.nudged).toEqual([{ endpointId: id, tenantId: t.tenant.id }]);
    const sent = (await t.call('GET', `/v1/deliveries/${event.deliveries[0].delivery_id}`)).json().data;
    expect(JSON.parse(sent.body)).toMatchObject({ event: 'digest.ready', data: { date: '2026-01-01' } });
    expect(await t.store.listMail(t.tenant.id, 10)).toMatchObject([{ facts: { kind: 'digest' } }]);
  });

  test('tells of each signal once, and is left out where nothing was found', async () => {
    await t.call('POST', '/v1/signals', anotherPost(1));
    t.clock.advance(8 * HOUR_MS);
    await make();
    t.clock.advance(24 * HOUR_MS);
    await make();
    expect(await digests()).toHaveLength(1);
    await t.call('POST', '/v1/signals', anotherPost(2));
    t.clock.advance(24 * HOUR_MS);
    await make();
    expect((await digests()).map(({ data }: never) => (data as { date: string }).date)).toEqual([
      ...['2026-01-03', '2026-01-01'],
    ]);
  });

  test('tells of a signal that was stored after the last one, though it was detected before', async () => {
    await t.call('POST', '/v1/signals', anotherPost(1));
    t.clock.advance(8 * HOUR_MS);
    await make();
    const late = t.clock.now() - HOUR_MS;
    t.clock.stepWall(-HOUR_MS);
    await t.call('POST', '/v1/signals', anotherPost(2));
    t.clock.stepWall(HOUR_MS);
    t.clock.advance(24 * HOUR_MS);
    await make();
    t.clock.advance(24 * HOUR_MS);
    await make();
    const [second, ...others] = await digests();
    expect(others).toHaveLength(1);
    expect(second.data.signals).toHaveLength(1);
    expect(second.data.url).toContain(`from=${new Date(late).toISOString()}`);
  });

  test('that was missed while nothing ran is made once afterwards', async () => {
    await t.call('POST', '/v1/signals', anotherPost(1));
    t.clock.advance(3 * 24 * HOUR_MS);
    await make();
    await make();
    expect(await digests()).toHaveLength(1);
  });

  test('comes at the hour and in the zone that are settled, and not where it is switched off', async () => {
    const patch = (body: object) => t.call('PATCH', '/v1/settings', body);
    await patch({ timezone: 'Asia/Tokyo', digest: { hour: 12 } }); // 03:00 UTC
    await t.call('POST', '/v1/signals', anotherPost(1));
    t.clock.advance(3 * HOUR_MS);
    await make();
    expect(await digests()).toMatchObject([{ data: { timezone: 'Asia/Tokyo', date: '2026-01-01' } }]);
    await patch({ digest: { enabled: false } });
    await t.call('POST', '/v1/signals', anotherPost(2));
    t.clock.advance(48 * HOUR_MS);
    await make();
    expect(await digests()).toHaveLength(1);
  });
});

describe('its mail', () => {
  const written = async () => {
    const feedbackLinks = createFeedbackLinks(createCursors(Buffer.alloc(32, 7)), baseUrl);
    const [mail] = await t.store.listMail(t.tenant.id, 10);
    if (mail === undefined) throw new Error('no mail');
    return {
      mail,
      text: await composeMail(
        {
          store: t.store,
          baseUrl,
          feedbackLinks,
          secretBox: createSecretBox(Buffer.alloc(32, 7), systemRandom),
        },
        mail,
      ),
    };
  };

  test('has each signal with its links, as text and as HTML that escapes what others wrote', async () => {
    const text = 'We are looking for a new CRM <b>& any</b> recommendations? Need to buy this month.';
    await t.call('POST', '/v1/signals', aPost({ text, company: { name: '<script>x</script>' } }));
    t.clock.advance(8 * HOUR_MS);
    await make();
    const { mail, text: made } = await written();
    expect(JSON.stringify(mail.facts)).not.toContain('looking for');
    expect(made.subject).toMatch(/^Signals of 2026-01-01: \d hot, \d warm$/);
    expect(made.text).toContain('looking for a new CRM <b>& any</b>');
    expect(made.html).toContain('looking for a new CRM &lt;b&gt;&amp; any');
    expect(made.html).not.toContain('<script');
    expect(made.html).toContain('name="viewport"');
    const links = made.html?.match(/https:\/\/signals\.example\.com\/feedback\/[\w-]+/g) ?? [];
    expect(new Set(links).size).toBe(2);
    for (const link of links) expect(made.text).toContain(link);
  });

  test('says nothing of a person who was erased before it was sent', async () => {
    const person = { email: 'dana@example.com' };
    const { data } = (
      await t.call('POST', '/v1/signals', aPost({ prospect: { ...person, name: 'Dana Whitlock' } }))
    ).json();
    const lead = { ...person, signal_ids: [data.signals[0].signal_id] };
    const { id } = (await t.call('POST', '/v1/leads', lead)).json().data;
    t.clock.advance(8 * HOUR_MS);
    await make();
    expect((await written()).text.text).toContain('looking for a new CRM');
    expect((await t.call('DELETE', `/v1/leads/${id}`)).statusCode).toBe(204);
    const { text } = await written();
    expect(text.text + text.html).not.toContain('looking for a new CRM');
    expect(JSON.stringify(await digests())).not.toContain('looking for a new CRM');
  });
});
