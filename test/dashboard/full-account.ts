import { expect } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { aPost } from '../support/app.ts';
import { invite } from './browser-session.ts';

const WEBHOOKS = '/dashboard/settings/integrations/webhooks';

/** Fills an account with one of everything; returns the URLs of all screens, and the ID of its lead. */
export async function fillAccount(
  made: TestApp,
  target: string,
): Promise<{ screens: string[]; leadId: string }> {
  async function call(path: string, payload: object) {
    const answer = await made.app.inject({ method: 'POST', url: path, headers: made.auth, payload });
    expect([path, answer.statusCode < 300 ? 'made' : answer.body]).toEqual([path, 'made']);
    return answer.json().data;
  }
  const hook = await call('/v1/webhooks', { url: target, label: 'CRM', min_score: 10 });
  const prospect = { name: 'Ann Lee', title: 'Head of Operations', email: 'ann@acme.example' };
  const company = { name: 'Acme', domain: 'acme.example', industry: 'HVAC' };
  const { signals } = await call('/v1/signals', { ...aPost(), prospect, company });
  const signal = signals[0].signal_id;
  await call('/v1/signals', { ...aPost({ platform: { name: 'lemmy' } }), text: 'It rains. '.repeat(60) });
  await call(`/v1/signals/${signal}/feedback`, { relevant: true, reason: 'A buyer.' });
  const lead = await call('/v1/leads', { signal_ids: [signal], tags: ['north'] });
  const campaign = await call('/v1/campaigns', { name: 'Spring', status: 'active' });
  const events = ['2025-12-30', '2025-12-31'].map((day) => ({
    ...{ event_id: day, type: 'sent', email: `${day}@x.example`, occurred_at: `${day}T10:00:00Z` },
  }));
  await call(`/v1/campaigns/${campaign.id}/events`, { events });
  const source = await call('/v1/sources', { kind: 'hackernews', name: 'Hacker News', query: 'crm' });
  const get = async (url: string) => (await made.app.inject({ url, headers: made.auth })).json().data;
  const [delivery] = await get('/v1/deliveries');
  const [profile] = await get('/v1/icps');
  const { user } = await invite(made, { email: 'dana@example.com', role: 'reader' });
  const screens = [
    ...['', '/start', '/find', '/find?q=acme', '/signals', `/signals/${signal}`],
    ...['/leads', `/leads/${lead.id}`, `/leads/${lead.id}/edit`, `/leads/${lead.id}/erase`, '/pipeline'],
    ...['/companies', '/companies/acme.example', '/companies/acme.example/edit'],
    ...['/campaigns', `/campaigns/${campaign.id}`, '/profiles', '/profiles/new', `/profiles/${profile.id}`],
    ...[
      '/sources',
      '/sources/new',
      '/sources/suggested',
      '/settings/digest',
      '/settings/integrations/slack',
      `/sources/${source.id}`,
      `/sources/${source.id}/edit`,
    ],
    ...['/webhook-logs', '/webhook-logs/events', `/webhook-logs/${delivery.id}`, '/dead-letters'],
    ...['/settings/api-keys', '/settings/plan', '/settings/outbox', '/settings/audit', '/nothing'],
    ...['/settings/account', '/settings/team', `/settings/team/${user.id}/remove`],
  ].map((path) => `/dashboard${path}`);
  return {
    screens: [...screens, WEBHOOKS, `${WEBHOOKS}/new`, `${WEBHOOKS}/${hook.id}`],
    leadId: lead.id,
  };
}
