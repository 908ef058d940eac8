import { toIso } from '../lib/clock.ts';
import { excerpt } from '../lib/text.ts';
import type { IcpProfile } from '../model/icp.ts';
import {
  type Explanation,
  MAX_EXCERPT_CODE_POINTS,
  type ObservedPost,
  type Signal,
} from '../model/signal.ts';
import { classify } from './score.ts';

/** The signal of a post matched with a profile, every member filled: what is not known is an empty string. */
export function buildSignal(
  post: ObservedPost,
  profile: IcpProfile,
  score: Explanation,
  at: { id: string; now: number; baseUrl: string },
): Signal {
  const { prospect = {}, company = {}, platform } = post;
  return {
    signal_id: at.id,
    signal_type: post.signal_type ?? 'intent_post',
    classification: classify(score.score, profile.thresholds),
    icp_score: score.score,
    timestamp: toIso(at.now),
    prospect: {
      name: prospect.name ?? '',
      title: prospect.title ?? '',
      email: prospect.email ?? '',
      linkedin_url: prospect.linkedin_url ?? '',
    },
    company: {
      name: company.name ?? '',
      domain: company.domain ?? '',
      industry: company.industry ?? '',
      headcount: String(company.headcount ?? ''),
      location: company.location ?? '',
    },
    platform: {
      name: platform.name,
      post_url: platform.post_url ?? '',
      posted_at: platform.posted_at ? toIso(Date.parse(platform.posted_at)) : '',
    },
    excerpt: excerpt(post.text, MAX_EXCERPT_CODE_POINTS),
    icp_profile_name: profile.name,
    profile_url: `${at.baseUrl}/dashboard/signals/${at.id}`,
    icp_profile_id: profile.id,
    external_id: post.external_id ?? null,
    lead_id: null,
  };
}
