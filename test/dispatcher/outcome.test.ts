import { describe, expect, it } from 'vitest';
import { decide } from '../../src/dispatcher/outcome.ts';
import { webhookInputSchema } from '../../src/model/webhook.ts';

const settings = webhookInputSchema.parse({ url: 'https://example.com/', max_retries: 2 });
const answered = (status: number) => ({ status, headers: {}, body: '' });
const failed = {
  error: { code: 'http_status', message: '' },
  response: answered(500),
  retryAfterMs: null,
} as const;
const base = {
  result: failed,
  settings,
  mode: 'push' as const,
  attemptsInCycle: 0,
  now: 1_000,
  fraction: 0,
  probe: false,
};

describe('the outcome of an attempt', () => {
  it("delivers on success and resets the endpoint's consecutive failures", () => {
    expect(decide({ ...base, result: { error: null, response: answered(200), retryAfterMs: null } })).toEqual(
      {
        next: { status: 'delivered' },
        streak: 'reset',
        gone: false,
      },
    );
  });

  it('retries as often as the endpoint allows after the first attempt', () => {
    const next = [0, 1, 2].map((attemptsInCycle) => decide({ ...base, attemptsInCycle }).next.status);
    expect(next).toEqual(['retrying', 'retrying', 'dead']);
  });

  it('keeps a delivery out of retries for seven days, or discards it if dead letters are off', () => {
    const exhausted = { ...base, attemptsInCycle: 2 };
    expect(decide(exhausted).next).toEqual({ status: 'dead', expiresAt: 1_000 + 604_800_000 });
    expect(decide({ ...exhausted, settings: { ...settings, dead_letter: false } }).next).toEqual({
      status: 'discarded',
    });
  });

  it('counts a failure against the endpoint, but not if the target is forbidden', () => {
    expect(decide(base).streak).toBe('add');
    const blocked = {
      error: { code: 'blocked_target', message: '' },
      response: null,
      retryAfterMs: null,
    } as const;
    expect(decide({ ...base, result: blocked }).streak).toBe('keep');
  });

  it('waits as long as the receiver asks', () => {
    const asked = { ...failed, retryAfterMs: 90_000 };
    expect(decide({ ...base, result: asked }).next).toEqual({ status: 'retrying', at: 91_000 });
  });

  it('immediately ends a delivery that cannot be prepared, without counting a failure', () => {
    const poison = { error: { code: 'internal', message: '' }, response: null, retryAfterMs: null } as const;
    expect(decide({ ...base, result: poison })).toMatchObject({ next: { status: 'dead' }, streak: 'keep' });
  });

  it('reports a receiver that is permanently gone', () => {
    expect(decide({ ...base, result: { ...failed, response: answered(410) } }).gone).toBe(true);
    expect(decide(base).gone).toBe(false);
  });

  it('does not use up a retry for a probe', () => {
    const exhausted = { ...base, attemptsInCycle: 2, probe: true };
    expect(decide(exhausted).next.status).toBe('retrying');
  });
});
