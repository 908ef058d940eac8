import type { Shape } from './texts.ts';

let sent = 0;

/**
 * Valid bodies by operation, with a string of each shape wherever one is allowed, at maximum length, so that
 * code behind the schema check sees it too.
 */
export const SOUND_BODIES: Readonly<Record<string, (shape: Shape) => object>> = {
  createSignal: post,
  createSignals: (shape) => ({ signals: Array.from({ length: 10 }, () => post(shape)) }),
  createLead: lead,
  createLeads: (shape) => ({ leads: Array.from({ length: 20 }, () => lead(shape)) }),
  updateLead: (shape) => ({ ...facts(shape), custom_fields: { a: text(shape, 500) } }),
  createIcp: (shape) => ({ name: text(shape, 90) + sent++, ...profile(shape) }),
  updateIcp: profile,
  previewIcp: profile,
  draftIcp: (shape) => ({ offer: text(shape, 1_000) }),
  createCampaign: (shape) => ({ name: text(shape, 100), channel: 'email', steps: steps(shape) }),
  updateCampaign: (shape) => ({ name: text(shape, 100), steps: steps(shape) }),
  recordCampaignEvents: (shape) => ({
    events: Array.from({ length: 200 }, (_, n) => ({
      event_id: `${n} ${text(shape, 100)}`,
      type: 'sent',
      email: `a${n}@example.com`,
      occurred_at: '2026-01-01T00:00:00Z',
    })),
  }),
  createWebhook: (shape) => ({
    url: 'https://127.0.0.1:8443/a',
    label: text(shape, 100),
    payload_format: { custom: { a: text(shape, 500) } },
    event_types: ['campaign.status_changed'],
  }),
  previewPayloadFormat: (shape) => ({
    payload_format: { custom: { a: text(shape, 500), b: text(shape, 500) } },
  }),
  createSource: (shape) => ({
    ...{ kind: 'hackernews', name: text(shape, 150) + sent++, query: text(shape, 300) },
    active: false,
  }),
  createKey: (shape) => ({ name: text(shape, 100), scopes: ['signals:read'] }),
  putCompany: (shape) => ({ name: text(shape, 200), industry: text(shape, 200), location: text(shape, 200) }),
};

/** Neither empty after trimming, nor rejected for half a surrogate pair. */
function text({ of }: Shape, chars: number): string {
  return `x${of(chars - 2)}x`
    .slice(0, chars)
    .replaceAll(/\p{Cs}/gu, 'x')
    .replaceAll(chars < 1_000 ? /[\p{Cc}\p{Zl}\p{Zp}]/gu : /\0/gu, ' ');
}

function facts(shape: Shape): object {
  return {
    ...{ name: text(shape, 200), title: text(shape, 200) },
    company: { name: text(shape, 200), industry: text(shape, 200), location: text(shape, 200) },
  };
}

function post(shape: Shape): object {
  const { company, ...prospect } = facts(shape) as { company: object };
  return {
    platform: { name: 'forum', post_url: `https://a.example/${sent++}` },
    external_id: text(shape, 290) + sent,
    text: `${sent} ${text(shape, 19_900)}`,
    ...{ prospect, company },
  };
}

function lead(shape: Shape): object {
  sent++;
  return {
    ...{ email: `a${sent}@example${sent}.com`, source: text(shape, 50), tags: [text(shape, 50)] },
    ...facts(shape),
    custom_fields: { a: text(shape, 500) },
  };
}

function profile(shape: Shape): object {
  const terms = (count: number) => Array.from({ length: count }, (_, n) => `${n}a ${text(shape, 90)}`);
  return {
    ...{ description: text(shape, 1_900), phrases: terms(30), excluded_phrases: terms(30) },
    ...{ competitors: terms(20), industries: terms(20), titles: terms(20), locations: terms(20) },
    muted_authors: terms(5),
  };
}

function steps(shape: Shape): object[] {
  return Array.from({ length: 5 }, (_, n) => ({ step: n + 1, name: text(shape, 100) }));
}
