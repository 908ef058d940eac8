import type { EventType } from '../model/event.ts';
import { SAMPLE_SIGNAL } from './sample-signal.ts';

const AT = '2026-01-01T09:00:00.000Z';
const ACTOR = { id: 'key_1', name: 'CRM' };

const LEAD = {
  ...{ id: 'led_1', name: 'Dana *Example*', first_name: 'Dana', last_name: 'Example' },
  ...{ email: 'dana@example.com', linkedin_url: '', title: '', seniority: '', department: '' },
  ...{ company: SAMPLE_SIGNAL.company, source: 'reddit', stage: 'contacted', stage_changed_at: AT },
  ...{ icp_score: 86, classification: 'hot', signal_count: 1, last_signal_at: AT, tags: [] },
  ...{ owner: '', notes: '', next_step: null },
  ...{ custom_fields: {}, deal: null, provenance: {}, enriched_at: AT, created_at: AT, updated_at: AT },
};
const DEAL = { amount_minor: 120_000, currency: 'USD', status: 'won', close_date: null };

const { signal_id, classification, icp_score, excerpt, company, profile_url } = SAMPLE_SIGNAL;
const DIGEST_SIGNAL = { signal_id, classification, icp_score, excerpt, company, profile_url };

/** `data` of one event of each type: what a test of that type is made of. */
export const EVENT_SAMPLES: Record<EventType, object> = {
  'signal.detected': { signal_id },
  'signal.new_hot': {
    ...{ platform: 'reddit', score: 'hot', lead_name: 'Dana', signal_text: excerpt, signal_id },
  },
  'lead.created': { lead_id: 'led_1', previous: null, current: LEAD },
  'lead.enriched': { lead_id: 'led_1', previous: null, current: LEAD },
  'pipeline.stage_changed': {
    ...{
      lead_id: 'led_1',
      previous: 'new',
      current: 'contacted',
      reason: 'called',
      actor: ACTOR,
      lead: LEAD,
    },
  },
  'campaign.status_changed': {
    ...{ campaign_id: 'cam_1', campaign_name: 'Spring', previous: 'draft', current: 'active' },
  },
  'digest.ready': {
    ...{ date: '2026-01-01', timezone: 'America/New_York', counts: { hot: 1, warm: 0 } },
    signals: [DIGEST_SIGNAL],
    url: 'https://example.com/dashboard/signals?state=all&classification=hot,warm&from=2025-12-31T14:00:00.000Z',
  },
  'reply.classified': {
    ...{ campaign_id: 'cam_1', campaign_name: 'Spring', event_id: 'r1', lead_id: '', email: 'x@example.com' },
    ...{ step: 1, reply_class: 'not_now', auto: false, occurred_at: AT, previous: null, current: 'not_now' },
  },
  'endpoint.failing': {
    ...{ endpoint_id: 'whk_1', label: 'CRM', host: 'crm.example.com', consecutive_failures: 10 },
    ...{ pauses_at: 20, previous: 'active', current: 'failing' },
  },
  'endpoint.paused': {
    ...{ endpoint_id: 'whk_1', label: '', host: 'crm.example.com', reason: 'failures' },
    ...{ consecutive_failures: 20, previous: 'failing', current: 'paused' },
  },
  'endpoint.recovered': {
    ...{ endpoint_id: 'whk_1', label: 'CRM', host: 'crm.example.com', previous: 'paused', current: 'active' },
  },
  'delivery.dead': {
    ...{ delivery_id: 'dlv_1', endpoint_id: 'whk_1', label: 'CRM', host: 'crm.example.com' },
    ...{ event: 'signal.detected', event_id: 'evt_1', subject_id: 'sig_1', attempt_count: 4, expires_at: AT },
  },
  'deal.changed': { lead_id: 'led_1', previous: null, current: DEAL, actor: ACTOR, lead: LEAD },
};
