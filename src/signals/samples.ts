import { type Clock, HOUR_MS, toIso } from '../lib/clock.ts';
import { SAMPLE_PLATFORM } from '../model/constants.ts';
import type { IcpProfile } from '../model/icp.ts';
import type { ObservedPost } from '../model/signal.ts';
import type { SignalStore } from '../store/signal-store.ts';
import { type IntakeDeps, planPosts } from './plan-posts.ts';

/**
 * Stores sample posts that show how a profile scores a request, a complaint and noise, so that a new account
 * has something to judge before its first real post. They are scored like any other post, but create no
 * events. Earlier samples are replaced.
 */
export async function addSamples(deps: IntakeDeps, profile: IcpProfile): Promise<void> {
  await removeSamples(deps.store, profile.tenantId);
  const posts = samplePosts(profile, deps.clock);
  const planned = await planPosts(deps, profile.tenantId, posts);
  const signals = planned.flatMap((plan) =>
    plan.signals.map(({ route: _, ...signal }) => ({ ...signal, events: [] })),
  );
  await deps.store.commitSignals(signals);
}

/**
 * Deletes all sample posts of a tenant for good, and returns their number. A sample that became a lead stays
 * with the lead.
 */
export function removeSamples(store: SignalStore, tenantId: string): Promise<number> {
  return store.removeSignalsOf(tenantId, SAMPLE_PLATFORM);
}

interface SamplePost {
  text: string;
  name: string;
  /** Whether the author has a title from the profile, if it names any. */
  isBuyer: boolean;
}

/** Posts in the profile's own words, newest first. Pure, except for the current time. */
function samplePosts(profile: IcpProfile, clock: Clock): ObservedPost[] {
  const { phrases, competitors, titles, industries, locations } = profile;
  const wanted = phrases[0] ?? 'a good supplier';
  const other = competitors[0] ?? 'our spreadsheets';
  const samples: SamplePost[] = [
    {
      text: `Can anyone recommend ${wanted}? We are a team of 25, the budget is approved, and we have to decide this month.`,
      name: 'Robin Sample',
      isBuyer: true,
    },
    {
      text: `We are leaving ${other}: it is slow, it is expensive, and support never answers. Looking for ${wanted} instead, what do you use?`,
      name: 'Kim Sample',
      isBuyer: true,
    },
    {
      text: `Thinking of getting ${wanted} one day. Does anyone have experience with it, and what does it cost? We still do it by hand.`,
      name: 'Alex Sample',
      isBuyer: false,
    },
    {
      text: `We just launched our own ${wanted}! Sign up for the beta, first month free, link in bio.`,
      name: 'Vendor Sample',
      isBuyer: false,
    },
    {
      text: `Looking for a new job: five years with ${wanted}, open to work from January.`,
      name: 'Applicant Sample',
      isBuyer: false,
    },
    {
      text: 'What a week. Is anybody else this tired of the rain?',
      name: 'Jo Sample',
      isBuyer: false,
    },
  ];
  return samples.map(({ text, name, isBuyer }, at) => ({
    platform: { name: SAMPLE_PLATFORM, posted_at: toIso(clock.now() - (at + 1) * HOUR_MS) },
    external_id: `sample-${at + 1}`,
    text,
    prospect: { name, ...(isBuyer && titles[0] !== undefined ? { title: titles[0] } : {}) },
    company: isBuyer
      ? {
          name: 'Sample company',
          headcount: '11-50',
          ...(industries[0] === undefined ? {} : { industry: industries[0] }),
          ...(locations[0] === undefined ? {} : { location: locations[0] }),
        }
      : {},
    icp_profile_id: profile.id,
  }));
}
