import { describe, expect, test } from 'vitest';
import type { KeyedRequest, Reservation } from '../../../src/store/idempotency-store.ts';
import { T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const ANSWER = { status: 201, location: 'https://x.example/1', body: '{"data":{"id":"led_1"}}' };

function aRequest(overrides: Partial<KeyedRequest> = {}): KeyedRequest {
  return { tenantId: 'ten_a', route: 'POST /v1/leads', key: 'k1', fingerprint: 'f1', ...overrides };
}

function terms(overrides: Partial<Reservation> = {}): Reservation {
  return { token: 't1', now: T0, leaseUntil: T0 + 100, expiresAt: T0 + 1_000, ...overrides };
}

export function describeIdempotency(open: OpenStore): void {
  describe('keys of requests', () => {
    test('of many who ask at once, one may run', async () => {
      const { store } = await openWithTenants(open);
      const asked = Array.from({ length: 20 }, (_, i) =>
        store.reserveKey(aRequest(), terms({ token: `t${i}` })),
      );
      const states = (await Promise.all(asked)).map(({ state }) => state);
      expect(states.sort()).toEqual(['reserved', ...Array(19).fill('running')].sort());
    });

    test('an answer is kept as it was, until the key expires', async () => {
      const { store } = await openWithTenants(open);
      await store.reserveKey(aRequest(), terms());
      expect(await store.answerKey(aRequest(), 't1', ANSWER)).toBe(true);
      const again = (now: number) => store.reserveKey(aRequest(), terms({ token: 't2', now }));
      expect(await again(T0 + 999)).toEqual({ state: 'answered', answer: ANSWER });
      expect(await again(T0 + 1_000)).toEqual({ state: 'reserved' });
    });

    test('another request under the key is told apart, running or answered', async () => {
      const { store } = await openWithTenants(open);
      const other = () => store.reserveKey(aRequest({ fingerprint: 'f2' }), terms({ token: 't2' }));
      await store.reserveKey(aRequest(), terms());
      expect(await other()).toEqual({ state: 'mismatch' });
      await store.answerKey(aRequest(), 't1', ANSWER);
      expect(await other()).toEqual({ state: 'mismatch' });
    });

    test('tenants and routes have keys of their own', async () => {
      const { store } = await openWithTenants(open);
      await store.reserveKey(aRequest(), terms());
      for (const other of [aRequest({ tenantId: 'ten_b' }), aRequest({ route: 'POST /v1/keys' })]) {
        expect(await store.reserveKey(other, terms({ token: 't2' }))).toEqual({ state: 'reserved' });
      }
    });

    test('a released key is free; an answered one is not released', async () => {
      const { store } = await openWithTenants(open);
      await store.reserveKey(aRequest(), terms());
      await store.releaseKey(aRequest(), 't1');
      expect(await store.reserveKey(aRequest(), terms({ token: 't2' }))).toEqual({ state: 'reserved' });
      await store.answerKey(aRequest(), 't2', ANSWER);
      await store.releaseKey(aRequest(), 't2');
      expect(await store.reserveKey(aRequest(), terms({ token: 't3' }))).toMatchObject({ state: 'answered' });
    });

    test('an unanswered request whose lease is out is told of once; its late answer is not kept', async () => {
      const { store } = await openWithTenants(open);
      const at = (now: number, token: string) =>
        store.reserveKey(aRequest(), terms({ now, token, leaseUntil: now + 100 }));
      await at(T0, 't1');
      expect(await at(T0 + 99, 't2')).toEqual({ state: 'running' });
      expect(await at(T0 + 100, 't3')).toEqual({ state: 'lost' });
      expect(await at(T0 + 101, 't4')).toEqual({ state: 'reserved' });
      expect(await store.answerKey(aRequest(), 't1', ANSWER)).toBe(false);
      await store.releaseKey(aRequest(), 't1');
      expect(await at(T0 + 102, 't5')).toEqual({ state: 'running' });
    });
  });
}
