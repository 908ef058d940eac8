import type { CampaignStatus } from '../model/campaign.ts';
import { DomainError } from '../model/errors.ts';

/**
 * States of a campaign:
 *   draft      being written    → scheduled | active | completed
 *   scheduled  waits to start   → active | completed
 *   active     runs             → paused | completed
 *   paused     is held          → active | completed
 *   completed  final
 * The same state again is no move.
 */
const MOVES: Record<CampaignStatus, readonly CampaignStatus[]> = {
  draft: ['scheduled', 'active', 'completed'],
  scheduled: ['active', 'completed'],
  active: ['paused', 'completed'],
  paused: ['active', 'completed'],
  completed: [],
};

/** Whether `wanted` is a move from `current`; false where it is the same. @throws DomainError `INVALID_TRANSITION` */
export function movesTo(current: CampaignStatus, wanted: CampaignStatus): boolean {
  if (wanted === current) return false;
  const moves = MOVES[current];
  if (moves.includes(wanted)) return true;
  const detail = `A campaign that is ${current} cannot become ${wanted}.`;
  throw new DomainError('INVALID_TRANSITION', detail, {
    hint:
      moves.length === 0
        ? `"${current}" is final; make a new campaign.`
        : `From "${current}" a campaign can become ${moves.map((status) => `"${status}"`).join(', ')}.`,
    errors: [{ pointer: '/status', detail }],
  });
}
