import type { IdempotencyStore } from '../../idempotency-store.ts';
import type { Context } from '../context.ts';

export function idempotencyMethods({ writer }: Context) {
  return {
    reserveKey: (request, reservation) => writer.run('reserveKey', request, reservation),
    answerKey: (request, token, answer) => writer.run('answerKey', request, token, answer),
    releaseKey: (request, token) => writer.run('releaseKey', request, token),
  } satisfies IdempotencyStore;
}
