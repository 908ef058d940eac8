import { DomainError, invalidAt } from '../model/errors.ts';
import type { MoveInput, Stage } from '../model/pipeline.ts';

/**
 * Stages of a lead in the pipeline:
 *   new, contacted, engaged, qualified, proposal   open: each to each other, to won, and with a reason to lost
 *   won, lost                                      closed: to any other, lost with a reason, where `reopen` is true
 */
const CLOSED: readonly Stage[] = ['won', 'lost'];

/**
 * Whether the lead moves (true) or stands there already (false). `expected_stage` is checked before anything else, so
 * that who has not seen the latest move hears of it first.
 * @throws DomainError `STAGE_CONFLICT`, `INVALID_TRANSITION`, `INVALID_REQUEST`
 */
export function decideMove(current: Stage, { stage, expected_stage, reason, reopen }: MoveInput): boolean {
  if (expected_stage !== null && expected_stage !== current) {
    throw new DomainError('STAGE_CONFLICT', `The lead is in "${current}", not in "${expected_stage}".`, {
      hint: 'Read the lead again, and decide from the stage it is in now.',
      members: { current_stage: current, expected_stage },
    });
  }
  if (stage === current) return false;
  if (CLOSED.includes(current) && !reopen) {
    throw new DomainError('INVALID_TRANSITION', `The lead is closed as "${current}".`, {
      hint: 'Send "reopen": true to move it anyway.',
      members: { current_stage: current },
    });
  }
  if (stage === 'lost' && reason === '') {
    throw invalidAt('/reason', 'Say in "reason" why the lead is lost.');
  }
  return true;
}
