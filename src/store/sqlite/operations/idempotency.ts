import type { Database } from 'better-sqlite3';
import type { KeptAnswer, KeyedRequest, Reservation, Reserved } from '../../idempotency-store.ts';
import { createIdempotencySql } from '../tables/idempotency.ts';

export function idempotencyOperations(db: Database) {
  const keys = createIdempotencySql(db);

  return {
    reserveKey: (request: KeyedRequest, reservation: Reservation): Reserved =>
      keys.reserve(request, reservation),
    answerKey: (request: KeyedRequest, token: string, answer: KeptAnswer): boolean =>
      keys.answer(request, token, answer),
    releaseKey: (request: KeyedRequest, token: string): void => keys.release(request, token),
  };
}
