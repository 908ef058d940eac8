import { createGuide, type Examples, type Visit } from './api-tour.ts';
import { buildTestApp } from './app.ts';
import { createFixedIds, createFixedRandom } from './fixed-chance.ts';
import { OPENAPI_BASE_URL } from './openapi-files.ts';

/** Visits every operation on a fresh server, always with the same outcome, and returns what was seen. */
export async function makeExamples(): Promise<Examples> {
  const t = await buildTestApp({
    env: { BASE_URL: OPENAPI_BASE_URL, WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' },
    random: createFixedRandom('examples'),
    newId: createFixedIds(),
  });
  try {
    const { examples, visit, stumble } = createGuide(t);
    await visitEverything(visit);
    await leaveEverything(visit);
    await stumble('GET /v1/signals?classificaton=hot');
    await stumble('GET /v1/signals?cursor=c2lnbmVkIGJ5IHNvbWVvbmU');
    await stumble('GET /v1/signals/sig_unknown');
    await stumble('GET /v1/me', { headers: { authorization: 'Bearer sp_live_mistyped' } });
    await stumble('POST /v1/signals', { body: { platform: { name: 'reddit' }, text: '', lang: 'en' } });
    return examples;
  } finally {
    await t.app.close();
  }
}

/** Every operation but those that end something: what they read and make is there afterwards. */
export async function visitEverything(visit: Visit): Promise<void> {
  await visit('getMe', 'GET /v1/me');
  await visitKeys(visit);
  await visitWebhooks(visit);
  await visitSignals(visit);
  await visitCampaigns(visit);
}

/** The operations that end something. */
async function leaveEverything(visit: Visit): Promise<void> {
  await visit('deleteWebhook', `DELETE /v1/webhooks/${await newest(visit, 'webhooks')}`);
  await visit('revokeKey', `DELETE /v1/keys/${await newest(visit, 'keys')}`);
}

async function newest(visit: Visit, list: 'webhooks' | 'keys'): Promise<string> {
  const { data } = await visit(list === 'keys' ? 'listKeys' : 'listWebhooks', `GET /v1/${list}`);
  return data.at(-1).id;
}

async function visitKeys(visit: Visit): Promise<void> {
  const { data } = await visit('createKey', 'POST /v1/keys', {
    name: 'Reporting',
    scopes: ['signals:read', 'campaigns:read'],
    rate_limit: 120,
  });
  await visit('listKeys', 'GET /v1/keys?limit=1');
  await visit('getKey', `GET /v1/keys/${data.id}`);
  await visit('updateKey', `PATCH /v1/keys/${data.id}`, { rate_limit: 240 });
}

async function visitWebhooks(visit: Visit): Promise<void> {
  await visit('createWebhook', 'POST /v1/webhooks', {
    url: 'https://127.0.0.1:8443/signalpost',
    label: 'CRM',
    classifications: ['hot', 'warm'],
  });
  const { data } = await visit('listWebhooks', 'GET /v1/webhooks');
  await visit('getWebhook', `GET /v1/webhooks/${data[0].id}`);
}

const POST = {
  platform: {
    name: 'reddit',
    post_url: 'https://www.reddit.com/r/HVAC/comments/1a2b3c/scheduling_software/',
    posted_at: '2025-12-31T21:40:00Z',
  },
  external_id: 't3_1a2b3c',
  text: 'Looking for scheduling software for a 12-van HVAC firm. The budget is approved and we need it running by March. What do you all use?',
  prospect: { name: 'Dana Whitfield', title: 'Operations Manager', email: 'dana@whitfield-hvac.com' },
  company: { name: 'Whitfield HVAC', domain: 'whitfield-hvac.com', industry: 'HVAC', headcount: '11-50' },
};

const COLD_POST = {
  platform: { name: 'hackernews', post_url: 'https://news.ycombinator.com/item?id=42000001' },
  text: 'Show HN: we built an open-source dispatch board for repair firms.',
};

async function visitSignals(visit: Visit): Promise<void> {
  const made = await visit('createSignal', 'POST /v1/signals', POST);
  await visit('createSignal', 'POST /v1/signals', POST);
  await visit('createSignals', 'POST /v1/signals/batch', {
    signals: [COLD_POST, POST, { platform: { name: 'reddit' }, text: '' }],
  });
  await visit('listSignals', 'GET /v1/signals?classification=hot&limit=1');
  await visit('getSignal', `GET /v1/signals/${made.data.signals[0].signal_id}`);
}

async function visitCampaigns(visit: Visit): Promise<void> {
  const { data } = await visit('createCampaign', 'POST /v1/campaigns', {
    name: 'Spring service plans',
    channel: 'email',
    steps: [{ step: 1, name: 'Introduction' }],
  });
  await visit('updateCampaign', `PATCH /v1/campaigns/${data.id}`, { status: 'active' });
  await visit('recordCampaignEvents', `POST /v1/campaigns/${data.id}/events`, {
    events: [
      {
        event_id: 'm1-sent',
        type: 'sent',
        occurred_at: '2026-01-01T00:00:00Z',
        email: 'dana@whitfield-hvac.com',
        step: 1,
      },
      {
        event_id: 'm1-delivered',
        type: 'delivered',
        occurred_at: '2026-01-01T00:00:02Z',
        email: 'dana@whitfield-hvac.com',
        step: 1,
      },
      {
        event_id: 'm1-replied',
        type: 'replied',
        occurred_at: '2026-01-01T00:00:04Z',
        email: 'dana@whitfield-hvac.com',
        step: 1,
        reply_class: 'interested',
      },
    ],
  });
  await visit('listCampaigns', 'GET /v1/campaigns?status=active');
  await visit('getCampaign', `GET /v1/campaigns/${data.id}`);
  await visit('getCampaignStats', `GET /v1/campaigns/${data.id}/stats`);
}
