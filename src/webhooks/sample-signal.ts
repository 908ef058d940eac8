import type { Signal } from '../model/signal.ts';

/**
 * The signal of test deliveries, and of previews where a tenant has none yet. Fixed to the last byte: the signature of a
 * test delivery is known before it is sent. Its addresses are of names reserved for examples (RFC 2606).
 */
export const SAMPLE_SIGNAL: Signal = {
  signal_id: 'sig_sample',
  signal_type: 'intent_post',
  classification: 'hot',
  icp_score: 86,
  timestamp: '2026-01-01T09:00:00.000Z',
  prospect: {
    name: 'Dana Example',
    title: 'Operations Manager',
    email: 'dana@example.com',
    linkedin_url: 'https://www.linkedin.com/in/dana-example',
  },
  company: {
    name: 'Example Heating & Air',
    domain: 'example.com',
    industry: 'HVAC',
    headcount: '11-50',
    location: 'Columbus, Ohio',
  },
  platform: {
    name: 'reddit',
    post_url: 'https://www.reddit.com/r/hvac/comments/example',
    posted_at: '2026-01-01T08:55:00.000Z',
  },
  excerpt: 'Looking for scheduling software for our 12 vans, budget approved, want to decide this month.',
  icp_profile_name: 'Default',
  profile_url: 'https://example.com/dashboard/signals/sig_sample',
  icp_profile_id: 'icp_sample',
  external_id: null,
  lead_id: null,
};
