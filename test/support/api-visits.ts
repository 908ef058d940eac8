import type { Guide, Visit } from './api-tour.ts';

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

const SUBSCRIBED = [
  'signal.detected',
  'signal.new_hot',
  'lead.created',
  'lead.enriched',
  'pipeline.stage_changed',
  'campaign.status_changed',
  'digest.ready',
  'reply.classified',
  'deal.changed',
];

/** All operations except those that end something, so that everything they create still exists afterwards. */
export async function visitEverything(guide: Guide): Promise<void> {
  await guide.visit('getMe', 'GET /v1/me');
  await guide.visit('getIndex', 'GET /v1');
  await guide.visit('listOperations', 'GET /v1/operations?tag=Account');
  await guide.visit('getSettings', 'GET /v1/settings');
  await guide.visit('updateSettings', 'PATCH /v1/settings', {
    timezone: 'America/New_York',
    digest: { enabled: true, hour: 7 },
  });
  await visitKeys(guide);
  const hooks = await visitWebhooks(guide);
  const signalId = await visitSignals(guide);
  const leadId = await visitLeads(guide, signalId);
  await visitPipeline(guide, leadId);
  await visitCampaigns(guide, leadId);
  await visitCompanies(guide);
  await visitProfiles(guide);
  await visitSources(guide);
  await visitDeliveries(guide, hooks);
}

/** The operations that end something. */
export async function leaveEverything({ visit }: Guide): Promise<void> {
  const signals = await visit('listSignals', 'GET /v1/signals');
  await visit('deleteSignal', `DELETE /v1/signals/${signals.data.at(-1).signal_id}`);
  const sources = await visit('listSources', 'GET /v1/sources');
  await visit('deleteSource', `DELETE /v1/sources/${sources.data.at(-1).id}`);
  const webhooks = await visit('listWebhooks', 'GET /v1/webhooks');
  await visit('deleteWebhook', `DELETE /v1/webhooks/${webhooks.data.at(-1).id}`);
  const leads = await visit('listLeads', 'GET /v1/leads');
  await visit('eraseLead', `DELETE /v1/leads/${leads.data.at(-1).id}`);
  const profiles = await visit('listIcps', 'GET /v1/icps');
  await visit('deleteIcp', `DELETE /v1/icps/${profiles.data.at(-1).id}`);
  const keys = await visit('listKeys', 'GET /v1/keys');
  await visit('revokeKey', `DELETE /v1/keys/${keys.data.at(-1).id}`);
}

/** Refused requests, one for each code that a caller can cause alone. */
export async function stumbleEverywhere({ visit, stumble }: Guide): Promise<void> {
  await stumble('UNKNOWN_PARAMETER', 'GET /v1/signals?classificaton=hot');
  await stumble('INVALID_CURSOR', 'GET /v1/signals?cursor=c2lnbmVkIGJ5IHNvbWVvbmU');
  await stumble('NOT_FOUND', 'GET /v1/signals/sig_unknown');
  await stumble('UNAUTHENTICATED', 'GET /v1/me', { headers: { authorization: 'Bearer sp_live_mistyped' } });
  const bad = { platform: { name: 'reddit' }, text: '', lang: 'en' };
  await stumble('INVALID_REQUEST', 'POST /v1/signals', { body: bad });
  await stumble('PAYLOAD_TOO_LARGE', 'POST /v1/signals', { body: { text: 'x'.repeat(1024 * 1024) } });
  const plain = { 'content-type': 'text/plain' };
  await stumble('UNSUPPORTED_MEDIA_TYPE', 'POST /v1/signals', { body: 'Looking for a CRM', headers: plain });
  const fast = { url: 'https://127.0.0.1:8443/fast', rate_limit_per_minute: 600 };
  await stumble('PLAN_REQUIRED', 'POST /v1/webhooks', { body: fast });
  await stumble('CONFLICT', 'POST /v1/icps', { body: { name: 'default' } });
  const profiles = await visit('listIcps', 'GET /v1/icps');
  await stumble('PRECONDITION_FAILED', `PATCH /v1/icps/${profiles.data[0].id}`, {
    body: { description: 'Firms with vans' },
    headers: { 'if-match': '"qT8bFzZ0x1Yk.Jb2mW9uQv0s7LxPa"' },
  });

  const { data } = await visit('createLead', 'POST /v1/leads', { email: 'sam@ortiz-plumbing.com' });
  const stage = `PUT /v1/pipeline/${data.id}/stage` as const;
  await stumble('STAGE_CONFLICT', stage, { body: { stage: 'engaged', expected_stage: 'contacted' } });
  await visit('moveLead', stage, { stage: 'won' });
  await stumble('INVALID_TRANSITION', stage, { body: { stage: 'engaged' } });

  const key = { 'idempotency-key': '0d9bc5a2-8a7e-4d6f-9a54-1f7f0e6b1f3c' };
  await visit('createSignal', 'POST /v1/signals', COLD_POST, key);
  await stumble('IDEMPOTENCY_MISMATCH', 'POST /v1/signals', { body: POST, headers: key });
  const narrow = await bearerOf(visit, { scopes: ['signals:read'], rate_limit: 2 });
  await stumble('INSUFFICIENT_SCOPE', 'POST /v1/signals', { body: POST, headers: narrow });
  await visit('getMe', 'GET /v1/me', undefined, narrow);
  await stumble('RATE_LIMITED', 'GET /v1/me', { headers: narrow });
}

async function bearerOf(visit: Visit, settings: object): Promise<{ authorization: string }> {
  const { data } = await visit('createKey', 'POST /v1/keys', { name: 'Narrow', ...settings });
  return { authorization: `Bearer ${data.api_key}` };
}

async function visitKeys({ visit }: Guide): Promise<void> {
  const { data } = await visit('createKey', 'POST /v1/keys', {
    name: 'Reporting',
    scopes: ['signals:read', 'campaigns:read'],
    rate_limit: 120,
  });
  await visit('listKeys', 'GET /v1/keys?limit=1');
  await visit('getKey', `GET /v1/keys/${data.id}`);
  await visit('updateKey', `PATCH /v1/keys/${data.id}`, { rate_limit: 240 });
}

/** An endpoint, with its secret. */
interface Hook {
  id: string;
  secret: string;
}

/** One that accepts everything, one whose deliveries fail, and one that is pulled. */
interface Hooks {
  good: Hook;
  bad: Hook;
  feed: Hook;
}

async function visitWebhooks({ visit }: Guide): Promise<Hooks> {
  const good = await visit('createWebhook', 'POST /v1/webhooks', {
    url: 'https://127.0.0.1:8443/signalpost',
    label: 'CRM',
    event_types: SUBSCRIBED,
    classifications: ['hot', 'warm'],
    headers: { Authorization: 'Bearer 0f9c2a7be41d' },
  });
  const bad = await visit('createWebhook', 'POST /v1/webhooks', { url: 'https://127.0.0.1:8443/old' });
  const { id } = good.data;
  const feed = await visit('createWebhook', 'POST /v1/webhooks', { mode: 'pull', label: 'Nightly import' });
  await visit('listWebhooks', 'GET /v1/webhooks?limit=1');
  await visit('getWebhook', `GET /v1/webhooks/${id}`);
  await visit('updateWebhook', `PATCH /v1/webhooks/${id}`, { min_score: 40 });
  await visit('getWebhookTest', `GET /v1/webhooks/${id}/test`);
  await visit('testWebhook', `POST /v1/webhooks/${id}/test`);
  await visit('pauseWebhook', `POST /v1/webhooks/${id}/pause`);
  await visit('resumeWebhook', `POST /v1/webhooks/${id}/resume`);
  await visit('getWebhookSourceIps', 'GET /v1/webhooks/source-ips');
  const { data } = await visit('regenerateWebhookSecret', `POST /v1/webhooks/${id}/secret`, {
    grace_hours: 24,
  });
  return { good: { id, secret: data.secret }, bad: bad.data, feed: feed.data };
}

async function visitSignals({ visit }: Guide): Promise<string> {
  const { data } = await visit('createSignal', 'POST /v1/signals', POST);
  await visit('createSignal', 'POST /v1/signals', POST);
  await visit('createSignals', 'POST /v1/signals/batch', {
    signals: [COLD_POST, POST, { platform: { name: 'reddit' }, text: '' }],
  });
  const later = { prefer: 'respond-async' };
  const job = await visit('createSignals', 'POST /v1/signals/batch', { signals: [COLD_POST] }, later);
  await visit('getJob', `GET /v1/jobs/${job.data.id}`);
  const id = data.signals[0].signal_id;
  await visit('listSignals', 'GET /v1/signals?limit=1&sort=-icp_score');
  await visit('getSignal', `GET /v1/signals/${id}`);
  await visit('giveSignalFeedback', `POST /v1/signals/${id}/feedback`, {
    relevant: true,
    reason: 'We know them',
  });
  await visit('previewPayloadFormat', 'POST /v1/webhooks/preview', {
    payload_format: {
      include: ['signal_id', 'icp_score', 'prospect'],
      flatten: true,
      custom: { source: 'signalpost' },
    },
    signal_id: id,
  });
  return id;
}

async function visitLeads({ visit }: Guide, signalId: string): Promise<string> {
  const person = {
    email: 'dana@whitfield-hvac.com',
    source: 'reddit',
    signal_ids: [signalId],
    tags: ['spring'],
    custom_fields: { vans: 12 },
  };
  const { data } = await visit('createLead', 'POST /v1/leads', person);
  await visit('createLead', 'POST /v1/leads', person);
  await visit('createLeads', 'POST /v1/leads/batch', {
    leads: [{ name: 'Sam Ortiz', company: { domain: 'ortiz-plumbing.com' } }, person, { title: 'Owner' }],
  });
  await visit('listLeads', 'GET /v1/leads?limit=1');
  await visit('getLead', `GET /v1/leads/${data.id}`);
  await visit('updateLead', `PATCH /v1/leads/${data.id}`, {
    title: 'Head of Operations',
    next_step: { text: 'Send the quote', due_date: '2026-02-06' },
  });
  return data.id;
}

async function visitPipeline({ visit }: Guide, leadId: string): Promise<void> {
  await visit('moveLead', `PUT /v1/pipeline/${leadId}/stage`, {
    stage: 'qualified',
    reason: 'Budget confirmed on the phone',
    expected_stage: 'new',
  });
  await visit('setDeal', `PUT /v1/pipeline/${leadId}/deal`, {
    amount_minor: 480_000,
    currency: 'USD',
    close_date: '2026-03-31',
  });
  await visit('getPipeline', 'GET /v1/pipeline?limit=1');
  await visit('listStageMoves', `GET /v1/pipeline/${leadId}/history`);
}

async function visitCampaigns({ visit }: Guide, leadId: string): Promise<void> {
  const { data } = await visit('createCampaign', 'POST /v1/campaigns', {
    name: 'Spring service plans',
    channel: 'email',
    steps: [{ step: 1, name: 'Introduction' }],
  });
  await visit('updateCampaign', `PATCH /v1/campaigns/${data.id}`, { status: 'active' });
  const about = { lead_id: leadId, step: 1 };
  await visit('recordCampaignEvents', `POST /v1/campaigns/${data.id}/events`, {
    events: [
      { event_id: 'm1-sent', type: 'sent', occurred_at: '2026-01-01T00:00:00Z', ...about },
      { event_id: 'm1-delivered', type: 'delivered', occurred_at: '2026-01-01T00:00:02Z', ...about },
      {
        event_id: 'm1-replied',
        type: 'replied',
        occurred_at: '2026-01-01T00:00:04Z',
        reply_class: 'interested',
        ...about,
      },
    ],
  });
  await visit('listCampaigns', 'GET /v1/campaigns?status=active');
  await visit('getCampaign', `GET /v1/campaigns/${data.id}`);
  await visit('getCampaignStats', `GET /v1/campaigns/${data.id}/stats`);
}

async function visitCompanies({ visit }: Guide): Promise<void> {
  await visit('putCompany', 'PUT /v1/companies/ortiz-plumbing.com', {
    name: 'Ortiz Plumbing',
    headcount: '2-10',
  });
  await visit('putCompany', 'PUT /v1/companies/harbor-electric.com', { name: 'Harbor Electric' });
  await visit('listCompanies', 'GET /v1/companies?limit=1');
  await visit('getCompany', 'GET /v1/companies/whitfield-hvac.com');
}

async function visitProfiles(guide: Guide): Promise<void> {
  const { visit } = guide;
  const profile = {
    name: 'Trade software',
    phrases: ['scheduling software', 'dispatch board'],
    industries: ['HVAC', 'Plumbing'],
    headcount_ranges: [{ min: 5, max: 50 }],
    thresholds: { hot: 65, warm: 35 },
  };
  const { data } = await visit('createIcp', 'POST /v1/icps', profile);
  await visit('listIcps', 'GET /v1/icps?limit=1');
  await visit('previewIcp', 'POST /v1/icps/preview', { phrases: ['scheduling software'] });
  await visit('getIcp', `GET /v1/icps/${data.id}`);
  await visit('updateIcp', `PATCH /v1/icps/${data.id}`, { competitors: ['ServiceTitan'] });
  await visit('draftIcp', 'POST /v1/icps/draft', {
    offer: 'Scheduling software for HVAC companies in Texas',
  });
  await visitQuality(guide, data.id);
}

/** Two signals that were not relevant, and what they have in common. */
async function visitQuality({ visit }: Guide, id: string): Promise<void> {
  for (const text of [
    'We are looking for new scheduling software for our HVAC company of 20, any recommendations? Budget is $400 a month, the old one keeps crashing and we have to switch this month. Also for our school project.',
    'Can anyone recommend scheduling software with a dispatch board? We are an HVAC company of 20, want to replace ServiceTitan by Friday and can pay $300 a month. It is for our school project.',
  ]) {
    const post = { platform: { name: 'reddit' }, text, icp_profile_id: id };
    const { data } = await visit('createSignal', 'POST /v1/signals', post);
    const said = { relevant: false, reason: 'Homework' };
    await visit('giveSignalFeedback', `POST /v1/signals/${data.signals[0].signal_id}/feedback`, said);
  }
  await visit('getIcpQuality', `GET /v1/icps/${id}/quality`);
  const { data } = await visit('listIcpSuggestions', `GET /v1/icps/${id}/suggestions`);
  const change = `POST /v1/icps/${id}/suggestions/${data[0].id}` as const;
  await visit('decideIcpSuggestion', change, { action: 'accept' });
}

async function visitSources({ visit }: Guide): Promise<void> {
  const { data } = await visit('createSource', 'POST /v1/sources', {
    kind: 'rss',
    name: 'HVAC on Reddit',
    url: 'https://www.reddit.com/r/HVAC/new/.rss',
    interval_seconds: 600,
  });
  await visit('createSource', 'POST /v1/sources', { kind: 'hackernews', name: 'HN', query: 'field service' });
  await visit('listSources', 'GET /v1/sources?limit=1');
  await visit('getSource', `GET /v1/sources/${data.id}`);
  await visit('updateSource', `PATCH /v1/sources/${data.id}`, { interval_seconds: 1_800 });
  await visit('listSourceRuns', `GET /v1/sources/${data.id}/runs`);
  await visit('runSource', `POST /v1/sources/${data.id}/run`);
  await visit('pauseSource', `POST /v1/sources/${data.id}/pause`);
  await visit('resumeSource', `POST /v1/sources/${data.id}/resume`);
}

async function visitDeliveries({ visit, deliver }: Guide, { good, bad, feed }: Hooks): Promise<void> {
  await deliver({ endpointId: good.id, secret: good.secret, reply: 'success' });
  await deliver({ endpointId: bad.id, secret: bad.secret, reply: 'failure' });
  const { data } = await visit('listDeliveries', 'GET /v1/deliveries?limit=1&status=delivered');
  await visit('getDelivery', `GET /v1/deliveries/${data[0].id}`);
  const sent = await visit(
    'listWebhookDeliveries',
    `GET /v1/webhooks/${good.id}/deliveries?limit=1&status=delivered`,
  );
  await visit('readWebhookFeed', `GET /v1/webhooks/${feed.id}/feed?limit=1`);
  await visit('replayDelivery', `POST /v1/deliveries/${sent.data[0].id}/replay`);
  await visit('listEvents', 'GET /v1/events?limit=2');
  const dead = await visit('listDeadLetters', 'GET /v1/dead-letters?limit=1');
  await visit('getDeadLetter', `GET /v1/dead-letters/${dead.data[0].id}`);
  await visit('replayWebhookDeliveries', `POST /v1/webhooks/${good.id}/replay`, {
    status: 'delivered',
    from: '2026-01-01T00:00:00Z',
    to: '2026-01-02T00:00:00Z',
  });
}
