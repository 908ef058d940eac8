import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const SAMPLES = new URL('../../data/samples.jsonl', import.meta.url);
const WEBHOOKS = '/dashboard/settings/integrations/webhooks';

/** A receiver that accepts everything at `/take`, and fails at `/fail`. */
export async function startReceiver(): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    request.resume();
    response.statusCode = request.url === '/fail' ? 503 : 200;
    response.end(response.statusCode === 200 ? 'taken' : 'The queue of the CRM is full.');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

// biome-ignore lint/suspicious/noExplicitAny: responses of many routes, of which only one member is read
type Answer = any;

/** The records named in the screenshots, and the path of every screen. */
export interface FilledAccount {
  signal: string;
  screens: string[];
}

/** Fills an account with the demo's posts, leads in every stage, a campaign, sources, and two webhooks, one of which fails. */
export async function fillAccount(url: string, apiKey: string, receiver: string): Promise<FilledAccount> {
  async function call(
    path: string,
    body?: object,
    method = body === undefined ? 'GET' : 'POST',
  ): Promise<Answer> {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
    return JSON.parse(text).data;
  }

  const [profile] = await call('/v1/icps');
  const draft = await call('/v1/icps/draft', { offer: 'Scheduling software for heating and plumbing firms' });
  await call(`/v1/icps/${profile.id}`, { ...draft, name: 'Trades that schedule' }, 'PATCH');
  const crm = await call('/v1/webhooks', { url: `${receiver}/take`, label: 'CRM' });
  await call('/v1/webhooks', {
    ...{ url: `${receiver}/fail`, label: 'Spreadsheet', classifications: ['hot'] },
    ...{ max_retries: 2, retry_interval_seconds: 30 },
  });
  const posts = (await readFile(SAMPLES, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  const signals: { signal_id: string; icp_score: number }[] = [];
  for (const [at, line] of posts.entries()) {
    const post = JSON.parse(line);
    post.platform.posted_at = new Date(Date.now() - (at + 2) * 5_400_000).toISOString();
    const { signals: made } = await call('/v1/signals', post);
    signals.push(made[0]);
  }
  const best = signals.toSorted((a, b) => b.icp_score - a.icp_score);
  const stages = ['new', 'contacted', 'contacted', 'engaged', 'qualified', 'proposal', 'won'];
  let lead = '';
  for (const [at, stage] of stages.entries()) {
    const { id } = await call('/v1/leads', {
      signal_ids: [best[at]?.signal_id],
      tags: at % 2 ? ['north'] : ['south'],
    });
    if (stage !== 'new') await call(`/v1/pipeline/${id}/stage`, { stage }, 'PUT');
    const deal = {
      amount_minor: (at + 2) * 120_000,
      currency: 'GBP',
      status: stage === 'won' ? 'won' : 'open',
    };
    if (at > 1) await call(`/v1/pipeline/${id}/deal`, deal, 'PUT');
    lead ||= id;
  }
  for (const [at, { signal_id: id }] of best.slice(0, 6).entries()) {
    await call(`/v1/signals/${id}/feedback`, {
      relevant: at !== 4,
      reason: at === 4 ? 'Too small for us.' : '',
    });
  }
  const campaign = await call('/v1/campaigns', {
    name: 'Autumn service',
    status: 'active',
    channel: 'email',
  });
  await call(`/v1/campaigns/${campaign.id}/events`, { events: campaignEvents() });
  const source = await call('/v1/sources', {
    kind: 'hackernews',
    name: 'Hacker News',
    query: 'scheduling',
    active: false,
  });
  await call(`/v1/webhooks/${crm.id}/test`, {});
  const [delivery] = await call('/v1/deliveries?limit=1');
  const [company] = await call('/v1/companies');
  const signal = best[0]?.signal_id ?? '';
  const screens = [
    ...['', '/start', '/find?q=heating', '/signals', `/signals/${signal}`, '/leads', `/leads/${lead}`],
    ...[`/leads/${lead}/edit`, '/pipeline', '/companies', `/companies/${company.id}`, '/campaigns'],
    ...[`/campaigns/${campaign.id}`, '/profiles', `/profiles/${profile.id}`, '/profiles/new', '/sources'],
    ...['/sources/new', `/sources/${source.id}`, '/webhook-logs', `/webhook-logs/${delivery.id}`],
    ...['/webhook-logs/events', '/dead-letters', '/settings/api-keys', '/settings/plan', '/settings/outbox'],
    ...['/settings/team', '/settings/account', '/settings/audit', '/nothing'],
  ].map((path) => `/dashboard${path}`);
  return { signal, screens: [...screens, WEBHOOKS, `${WEBHOOKS}/new`, `${WEBHOOKS}/${crm.id}`] };
}

/** Two weeks of a campaign, each day a little better. */
function campaignEvents(): object[] {
  const events: object[] = [];
  for (let day = 0; day < 14; day++) {
    const at = new Date(Date.now() - (14 - day) * 86_400_000).toISOString();
    for (let i = 0; i < 6 + (day % 4); i++) {
      const email = `person-${day}-${i}@buyer.example`;
      const types = ['sent', 'delivered', ...(i < 4 ? ['opened'] : []), ...(i < 2 ? ['clicked'] : [])];
      if (i === 0 && day % 2 === 0) types.push('replied');
      for (const type of types)
        events.push({ event_id: `${type}-${day}-${i}`, type, email, occurred_at: at });
    }
  }
  return events;
}
