import { expect, test } from 'vitest';
import { movesTo } from '../../src/campaigns/campaigns.ts';
import { CAMPAIGN_STATUSES, type CampaignStatus } from '../../src/model/campaign.ts';

/** draft → scheduled → active ⇄ paused → completed, draft → active, any to completed, which is final. */
const MOVES: [CampaignStatus, CampaignStatus][] = [
  ['draft', 'scheduled'],
  ['draft', 'active'],
  ['draft', 'completed'],
  ['scheduled', 'active'],
  ['scheduled', 'completed'],
  ['active', 'paused'],
  ['active', 'completed'],
  ['paused', 'active'],
  ['paused', 'completed'],
];

const pairs = CAMPAIGN_STATUSES.flatMap((from) => CAMPAIGN_STATUSES.map((to) => [from, to] as const));

test.each(pairs)('from %s to %s', (from, to) => {
  const allowed = MOVES.some(([a, b]) => a === from && b === to);
  if (from === to) expect(movesTo(from, to)).toBe(false);
  else if (allowed) expect(movesTo(from, to)).toBe(true);
  else expect(() => movesTo(from, to)).toThrow(`A campaign that is ${from} cannot become ${to}.`);
});
