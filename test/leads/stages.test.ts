import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decideMove } from '../../src/leads/move-lead.ts';
import { STAGES } from '../../src/model/constants.ts';
import { DomainError } from '../../src/model/errors.ts';
import type { MoveInput, Stage } from '../../src/model/pipeline.ts';

const OPEN: Stage[] = ['new', 'contacted', 'engaged', 'qualified', 'proposal'];

function outcome(current: Stage, move: MoveInput): string {
  try {
    return decideMove(current, move) ? 'moves' : 'stays';
  } catch (error) {
    if (error instanceof DomainError) return error.code;
    throw error;
  }
}

/** The rules again, as a table of what is required, in order. */
function expected(current: Stage, { stage, expected_stage, reason, reopen }: MoveInput): string {
  const rows: [boolean, string][] = [
    [expected_stage !== null && expected_stage !== current, 'STAGE_CONFLICT'],
    [stage === current, 'stays'],
    [!OPEN.includes(current) && !reopen, 'INVALID_TRANSITION'],
    [stage === 'lost' && reason === '', 'INVALID_REQUEST'],
    [true, 'moves'],
  ];
  return rows.find(([applies]) => applies)?.[1] ?? '';
}

const stage = fc.constantFrom(...STAGES);
const moves = fc.record({
  stage,
  expected_stage: fc.option(stage),
  reason: fc.constantFrom('', 'no budget'),
  reopen: fc.boolean(),
});

test('every move from every stage matches the table', () => {
  fc.assert(
    fc.property(stage, moves, (current, move) => {
      expect(outcome(current, move)).toBe(expected(current, move));
    }),
    { numRuns: 2_000 },
  );
});

const plain = { expected_stage: null, reason: '', reopen: false };

test.each(OPEN.flatMap((from) => [...OPEN, 'won' as const].map((to): [Stage, Stage] => [from, to])))(
  'from %s to %s requires nothing',
  (from, to) => {
    expect(outcome(from, { ...plain, stage: to })).toBe(from === to ? 'stays' : 'moves');
  },
);

test('a conflict names the current stage of the lead', () => {
  const move = { ...plain, stage: 'won' as const, expected_stage: 'new' as const };
  expect(() => decideMove('contacted', move)).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('contacted'),
      extra: expect.objectContaining({ members: { current_stage: 'contacted', expected_stage: 'new' } }),
    }),
  );
});
