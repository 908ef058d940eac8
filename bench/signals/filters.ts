import type { BenchData } from './data.ts';
import { RARE_WORD, SIGNALS } from './data.ts';
import { wordOf } from './posts.ts';

const COMMON = wordOf(0);
const SECOND = wordOf(1);
const MIDDLING = wordOf(400);
const RARISH = wordOf(1_500);

/** One query for each documented filter, and for usual combinations, with common and rare values. */
export function filterQueries({ profileId, newestAt, domain }: BenchData): Map<string, string> {
  const at = (share: number) => new Date(newestAt - (1 - share) * SIGNALS * 10_000).toISOString();
  const queries: [string, Record<string, string>][] = [
    ['platform', { platform: 'reddit' }],
    ['several platforms', { platform: 'reddit,rss' }],
    ['icp by id', { icp: profileId }],
    ['icp by name', { icp: 'default' }],
    ['from', { from: at(0.9) }],
    ['to', { to: at(0.5) }],
    ['a week', { from: at(0.4), to: at(0.46) }],
    ['signal_type', { signal_type: 'review' }],
    ['classification', { classification: 'hot' }],
    ['several classifications', { classification: 'hot,warm' }],
    ['min_score 50', { min_score: '50' }],
    ['min_score 93', { min_score: '93' }],
    ['min_score 100, no matches', { min_score: '100' }],
    ['company_domain', { company_domain: domain }],
    ['company_domain, no matches', { company_domain: 'nobody.example' }],
    ['q, a common word', { q: COMMON }],
    ['q, a less common word', { q: MIDDLING }],
    ['q, a rarer word', { q: RARISH }],
    ['q, a word in ten signals', { q: RARE_WORD }],
    ['q, a word in no signal', { q: 'nowhere' }],
    ['q, two common words', { q: `${COMMON} ${SECOND}` }],
    ['q, a common and a rare word', { q: `${COMMON} ${RARE_WORD}` }],
    ['q, a phrase', { q: `"${COMMON} ${SECOND}"` }],
    ['q with platform and classification', { q: COMMON, platform: 'rss', classification: 'cold' }],
    ['sort timestamp', { sort: 'timestamp' }],
    ['sort -icp_score', { sort: '-icp_score' }],
    ['sort -icp_score with platform', { sort: '-icp_score', platform: 'rss' }],
    ['sort -icp_score of a week', { sort: '-icp_score', from: at(0.4), to: at(0.46) }],
    ['sort -icp_score with q, common', { sort: '-icp_score', q: COMMON }],
    ['sort -icp_score with q, rare', { sort: '-icp_score', q: RARE_WORD }],
    ['include explanation', { include: 'explanation' }],
  ];
  return new Map(
    queries.map(([name, query]) => [name, `/v1/signals?${new URLSearchParams({ limit: '50', ...query })}`]),
  );
}
