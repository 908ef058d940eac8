import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { composeMail } from '../../src/accounts/compose-mail.ts';
import { createFeedbackLinks } from '../../src/accounts/links.ts';
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
  await make(); // schedules the first one
});
afterEach(() => t.app.close());

const make = () => {
  const { store, clock } = t;
  return makeDigests({ store, clock, baseUrl, newId: (prefix) => `${prefix}_digest${ids++}` });
};
const digests = async () => (await t.call('GET', '/v1/events?type=digest.ready')).json().data;

describe('the daily digest', () => {
  test('is created once, at its hour, from new signals: event, delivery and mail', async () => {
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

  test('shows reasons and links to posts in messages, and links to everything it counts', async () => {
    const [profile] = (await t.call('GET', '/v1/icps')).json().data;
    await t.call('PATCH', '/v1/settings', { digest: { icp_profile_ids: [profile.id] } });
    const slack = { payload_format: { preset: 'slack' }, event_types: ['digest.ready'] };
    await t.addWebhook(slack);
    await t.call('POST', '/v1/signals', anotherPost(1));
    await t.call('POST', '/v1/signals', anotherPost(2));
    t.clock.advance(8 * HOUR_MS);
    await make();
    const [event] = await digests();
    expect(new URL(event.data.url).search).toBe(
      `?state=all&classification=hot,warm&icp=${profile.id}&from=2026-01-01T00:00:00.000Z`,
    );
    const sent = (await t.call('GET', `/v1/deliveries/${event.deliveries[0].delivery_id}`)).json().data;
    expect(sent.body.match(/\*Looking for a new CRM[^*]*\*/g)).toHaveLength(2);
    expect(sent.body.match(/\|View post>/g)).toHaveLength(2);
  });

  test('is omitted if all signals are done or belong to other profiles', async () => {
    const other = { name: 'Other', phrases: ['forklift'] };
    const { id } = (await t.call('POST', '/v1/icps', other)).json().data;
    await t.call('PATCH', '/v1/settings', { digest: { icp_profile_ids: [id] } });
    await t.call('POST', '/v1/signals', anotherPost(1));
    t.clock.advance(8 * HOUR_MS);
    await make();
    expect([await digests(), await t.store.listMail(t.tenant.id, 10)]).toEqual([[], []]);
    await t.call('PATCH', '/v1/settings', { digest: { icp_profile_ids: [] } });
    const { data } = (await t.call('POST', '/v1/signals', anotherPost(2))).json();
    const signal = data.signals[0].signal_id;
    await t.call('POST', `/v1/signals/${signal}/feedback`, { relevant: true });
    t.clock.advance(24 * HOUR_MS);
    await make();
    expect([await digests(), await t.store.listMail(t.tenant.id, 10)]).toEqual([[], []]);
  });

  test('contains each signal once, and is omitted if there are none', async () => {
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

  test('contains a signal stored after the last digest, even if it was detected before it', async () => {
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

  test('is created once after an outage during which it was missed', async () => {
    await t.call('POST', '/v1/signals', anotherPost(1));
    t.clock.advance(3 * 24 * HOUR_MS);
    await make();
    await make();
    expect(await digests()).toHaveLength(1);
  });

  test('follows the hour and time zone of the settings, and is not created when turned off', async () => {
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

  test('contains each signal with its links, as text and as HTML with escaped content', async () => {
    const text = 'We are looking for a new CRM <b>& any</b> recommendations? Need to buy this month.';
    await t.call('POST', '/v1/signals', aPost({ text, company: { name: '<script>x</script>' } }));
    t.clock.advance(8 * HOUR_MS);
    await make();
    const { mail, text: made } = await written();
    expect(JSON.stringify(mail.facts)).not.toContain('looking for');
    expect(made.subject).toMatch(/^\d hot and \d warm signals · 2026-01-01$/);
    expect(made.text).toContain('looking for a new CRM <b>& any</b>');
    expect(made.html).toContain('looking for a new CRM &lt;b&gt;&amp; any');
    expect(made.html).not.toContain('<script');
    expect(made.html).toContain('name="viewport"');
    const links = made.html?.match(/https:\/\/signals\.example\.com\/feedback\/[\w-]+/g) ?? [];
    expect(new Set(links).size).toBe(3);
    for (const link of links) expect(made.text).toContain(link);
  });

  test('contains nothing about a person who is erased before it is sent', async () => {
    const person = { email: 'dana@example.com' };
    const { data } = (
      await t.call('POST', '/v1/signals', aPost({ prospect: { ...person, name: 'Dana Whitlock' } }))
    ).json();
    t.clock.advance(8 * HOUR_MS);
    await make();
    expect((await written()).text.text).toContain('Dana Whitlock');
    const lead = { ...person, signal_ids: [data.signals[0].signal_id] };
    const { id } = (await t.call('POST', '/v1/leads', lead)).json().data;
    expect((await t.call('DELETE', `/v1/leads/${id}`)).statusCode).toBe(204);
    const { text } = await written();
    expect(text.text + text.html).not.toContain('Dana Whitlock');
    expect(JSON.stringify(await digests())).not.toContain('looking for a new CRM');
  });

  test('contains the headline, the person, the place and one reason, and links to the post', async () => {
    const post = aPost({
      text: 'Which CRM for plumbers?\n\nWe are looking for a new CRM this month, budget approved. Any recommendations?',
      platform: { name: 'reddit', post_url: 'https://www.reddit.com/r/SaaS/comments/1/x/' },
      prospect: { name: 'Dana Whitlock', title: 'Owner' },
    });
    await t.call('POST', '/v1/signals', post);
    t.clock.advance(8 * HOUR_MS);
    await make();
    const { text } = await written();
    for (const said of [
      'Which CRM for plumbers?',
      'Dana Whitlock, Owner',
      'r/SaaS on Reddit',
      'Looking for',
    ]) {
      expect(text.text).toContain(said);
      expect(text.html).toContain(said);
    }
    expect(text.html).toContain('href="https://www.reddit.com/r/SaaS/comments/1/x/"');
    for (const button of ['Relevant', 'Not relevant', 'Add to pipeline'])
      expect(text.html).toContain(`>${button}</a>`);
    expect(text.unsubscribeUrl).toMatch(/^https:\/\/signals\.example\.com\/digest\/unsubscribe\//);
  });

  test('omits signals that are rated or added to the pipeline, even after it is created', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) {
      const { data } = (await t.call('POST', '/v1/signals', anotherPost(i))).json();
      ids.push(data.signals[0].signal_id);
    }
    const judge = (id = '') => t.call('POST', `/v1/signals/${id}/feedback`, { relevant: false });
    await judge(ids[0]);
    await t.call('POST', '/v1/leads', { signal_ids: [ids[1]] });
    t.clock.advance(8 * HOUR_MS);
    await make();
    const { mail } = await written();
    expect(mail.facts).toMatchObject({ signalIds: expect.not.arrayContaining([ids[0], ids[1]]) });
    await judge(ids[2]);
    const html = (await written()).text.html ?? '';
    expect(html.match(/\/dashboard\/signals\/sig_\w+/g)).toEqual([`/dashboard/signals/${ids[3]}`]);
  });

  test('shows ten signals and counts the rest', async () => {
    for (let i = 0; i < 22; i++) await t.call('POST', '/v1/signals', anotherPost(i));
    t.clock.advance(8 * HOUR_MS);
    await make();
    const { text } = await written();
    expect(text.html?.match(/<h2/g)).toHaveLength(10);
    expect(text.html).toContain('And 12 more.');
  });

  test('lists due next steps with their owners, and is sent once even if there is nothing else', async () => {
    const [{ email: owner = '' } = {}] = await t.store.listMembers(t.tenant.id);
    const aLead = async (email: string, due_date: string) => {
      const { id } = (await t.call('POST', '/v1/leads', { email })).json().data;
      const patch = { owner, next_step: { text: `Call <${email}>`, due_date } };
      expect((await t.call('PATCH', `/v1/leads/${id}`, patch)).statusCode).toBe(200);
      return id as string;
    };
    await aLead('late@acme.com', '2025-12-20');
    t.clock.advance(8 * HOUR_MS);
    await make();
    expect(await t.store.listMail(t.tenant.id, 10)).toEqual([]);
    const id = await aLead('now@acme.com', '2026-01-02');
    await aLead('later@acme.com', '2026-02-01');
    t.clock.advance(24 * HOUR_MS);
    await make();
    expect(await digests()).toEqual([]);
    const { text } = await written();
    expect(text.subject).toBe('Next steps due · 2026-01-02');
    expect(text.text).toContain(`late@acme.com · ${owner} · overdue since 2025-12-20`);
    expect(text.text).toContain(
      `Call <now@acme.com>\nnow@acme.com · ${owner} · due today\nLead: ${baseUrl}/dashboard/leads/${id}#follow`,
    );
    expect(text.text + text.html).not.toContain('later@acme.com');
    expect(text.html).toContain('Call &lt;now@acme.com&gt;</a>');
    t.clock.advance(24 * HOUR_MS);
    await make();
    expect(await t.store.listMail(t.tenant.id, 10)).toHaveLength(1);
  });

  test('has a contrast ratio of at least 4.5 in both themes', async () => {
    await t.call('POST', '/v1/signals', aPost());
    t.clock.advance(8 * HOUR_MS);
    await make();
    const html = (await written()).text.html ?? '';
    const [, dark = '', light = ''] = /<style>([\s\S]*)<\/style>([\s\S]*)/.exec(html) ?? [];
    for (const [theme, ground] of [
      [dark, '#101828'],
      [light, '#ffffff'],
    ] as const) {
      const inks = [...theme.matchAll(/(?<!background:[^;]*;)(?<![-\w])color:(#\w{6})/g)].map(
        ([, ink = '']) => ink,
      );
      expect(inks.length).toBeGreaterThan(3);
      for (const ink of inks.filter((each) => each !== '#ffffff')) {
        expect([ink, contrast(ink, ground) >= 4.5]).toEqual([ink, true]);
      }
    }
    expect(contrast('#ffffff', '#175cd3')).toBeGreaterThan(4.5);
  });

  test('is sent to every member who wants it', async () => {
    const { id } = t.tenant;
    const [owner] = await t.store.listMembers(id);
    const facts = async () => (await t.store.listMail(id, 20)).map(({ facts: { kind } }) => kind);
    const patch = (recipients: string[]) => t.call('PATCH', '/v1/settings', { digest: { recipients } });
    expect((await patch(['nobody@example.com'])).statusCode).toBe(400);
    expect((await patch([])).json().data.digest.recipients).toEqual([]);
    await t.call('POST', '/v1/signals', anotherPost(1));
    t.clock.advance(8 * HOUR_MS);
    await make();
    expect(await facts()).toEqual([]);
    expect((await patch([owner?.email ?? ''])).json().data.digest.recipients).toEqual([owner?.email]);
    await t.call('POST', '/v1/signals', anotherPost(2));
    t.clock.advance(24 * HOUR_MS);
    await make();
    expect(await facts()).toEqual(['digest']);
  });

  test('is sent only on Mondays if it is weekly, for the chosen profiles', async () => {
    const [profile] = (await t.call('GET', '/v1/icps')).json().data;
    const digest = { frequency: 'weekly', icp_profile_ids: [profile.id] };
    expect((await t.call('PATCH', '/v1/settings', { digest })).json().data.digest).toMatchObject(digest);
    const none = await t.call('PATCH', '/v1/settings', { digest: { icp_profile_ids: ['icp_none'] } });
    expect(none.statusCode).toBe(400);
    await t.call('POST', '/v1/signals', anotherPost(1));
    for (let day = 0; day < 12; day++) {
      t.clock.advance(24 * HOUR_MS);
      await make();
    }
    // 1 January 2026 is a Thursday.
    expect((await digests()).map(({ data }: never) => (data as { date: string }).date)).toEqual([
      '2026-01-06',
    ]);
  });
});

/** The contrast ratio of two colours (WCAG 2.2). */
function contrast(a: string, b: string): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
