import { describe, expect, test } from 'vitest';
import { afterProbe, nextProbeAt, pauseAfterFailure, pauseMail } from '../../src/rules/endpoints.ts';
import { T0 } from '../support/store.ts';

const MINUTE_MS = 60_000;
const failed = { gone: false, at: T0 };

describe('pausing an endpoint', () => {
  test('happens at the 20th consecutive failure, and not before', () => {
    expect(pauseAfterFailure(failed, { failures: 19, autoResume: true })).toBeNull();
    const pause = pauseAfterFailure(failed, { failures: 20, autoResume: true });
    expect(pause).toEqual({ reason: 'failures', probeAt: T0 + 5 * MINUTE_MS });
  });

  test('schedules probes only if auto_resume is on', () => {
    expect(pauseAfterFailure(failed, { failures: 20, autoResume: false })?.probeAt).toBeNull();
  });

  test('happens immediately on a 410, without probes', () => {
    const pause = pauseAfterFailure({ gone: true, at: T0 }, { failures: 1, autoResume: true });
    expect(pause).toEqual({ reason: 'gone', probeAt: null });
  });

  const endpoint = {
    id: 'whk_1',
    tenantId: 'ten_a',
    version: 3,
    label: 'CRM',
    url: 'https://a.example:444/x?y',
  };

  test.each(['failures', 'gone'] as const)(
    'for the reason %s notifies the owner once per pause, without the path of the URL',
    (reason) => {
      expect(pauseMail(endpoint, reason, T0)).toEqual({
        id: 'mal_1_3',
        tenantId: 'ten_a',
        facts: { kind: 'endpoint_paused', endpointId: 'whk_1', label: 'CRM', host: 'a.example:444', reason },
        createdAt: T0,
      });
    },
  );

  test.each(['manual', 'plan'] as const)('for the reason %s sends no mail', (reason) => {
    expect(pauseMail(endpoint, reason, T0)).toBeNull();
  });
});

describe('probes', () => {
  test('follow after 5, 10, 20 and 40 minutes, then every hour', () => {
    const minutes = [0, 1, 2, 3, 4, 5, 100].map((probes) => (nextProbeAt(T0, probes) - T0) / MINUTE_MS);
    expect(minutes).toEqual([5, 10, 20, 40, 60, 60, 60]);
  });

  const outcome = { streak: 'add', gone: false, at: T0 } as const;

  test.each([
    ['that succeeded ends the pause', { ...outcome, streak: 'reset' } as const, 0, { step: 'activate' }],
    ['that failed is followed by the next', outcome, 1, { step: 'probe_again', at: T0 + 20 * MINUTE_MS }],
    ['that was answered with 410 is the last', { ...outcome, gone: true }, 1, { step: 'end_probes' }],
    ['of a pause by hand changes nothing', outcome, null, { step: 'nothing' }],
    [
      'that succeeded leaves a pause by hand',
      { ...outcome, streak: 'reset' } as const,
      null,
      { step: 'nothing' },
    ],
  ])('one %s', (_, probed, probes, step) => {
    expect(afterProbe(probed, probes)).toEqual(step);
  });
});
