import type { Database } from 'better-sqlite3';
import type {
  HeldKey,
  IdempotencyStore,
  KeptAnswer,
  KeyedRequest,
  Reservation,
  Reserved,
  Step,
} from '../../idempotency-store.ts';
import type { Part } from '../../store.ts';

/** Expired keys taken away with each new one: more than come in, so that they die out, and few enough to cost nothing. */
const SWEPT_AT_ONCE = 20;

interface KeyRow {
  fingerprint: string;
  token: string;
  process: string;
  seed: string;
  started_at: number;
  steps: string;
  expires_at: number;
  status: number | null;
  location: string | null;
  body: string | null;
}

/** Who wants a key. */
export interface Bid extends Reservation {
  /** The process that will run the request. */
  process: string;
  /** The token of a holder that is known to be gone. */
  from: string | null;
}

/** What became of a bid; `taken`: another holds it, and whoever asks finds out whether it is still there. */
export type BidResult =
  | Exclude<Reserved, { state: 'running' | 'mismatch' }>
  | { state: 'mismatch' }
  | { state: 'taken'; token: string; process: string };

/** Keys of requests: bid for, answered and given up. */
export function idempotencyChanges(db: Database) {
  const select = db.prepare<[string, string, string], KeyRow>(
    `SELECT fingerprint, token, process, seed, started_at, steps, expires_at, status, location, body
     FROM idempotency_keys WHERE tenant_id = ? AND route = ? AND key = ?`,
  );
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT OR REPLACE INTO idempotency_keys
       (tenant_id, route, key, fingerprint, token, process, seed, started_at, expires_at)
     VALUES (:tenantId, :route, :key, :fingerprint, :token, :process, :token, :now, :expiresAt)`,
  );
  const takeOver = db.prepare<Record<string, unknown>[]>(
    `UPDATE idempotency_keys SET token = :token, process = :process
     WHERE tenant_id = :tenantId AND route = :route AND key = :key`,
  );
  const answer = db.prepare<Record<string, unknown>[]>(
    `UPDATE idempotency_keys SET status = :status, location = :location, body = :body, steps = ''
     WHERE tenant_id = :tenantId AND route = :route AND key = :key AND token = :token`,
  );
  const held =
    'tenant_id = :tenantId AND route = :route AND key = :key AND token = :token AND status IS NULL';
  const removeUnused = db.prepare<Record<string, unknown>[]>(
    `DELETE FROM idempotency_keys WHERE ${held} AND steps = ''`,
  );
  const letGo = db.prepare<Record<string, unknown>[]>(
    `UPDATE idempotency_keys SET process = '' WHERE ${held}`,
  );
  const sweep = db.prepare<[number, number]>(
    `DELETE FROM idempotency_keys WHERE rowid IN
       (SELECT rowid FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
  );

  return {
    bidForKey(request: KeyedRequest, bid: Bid): BidResult {
      const { token, now, process, from } = bid;
      const row = select.get(request.tenantId, request.route, request.key);
      if (row === undefined || row.expires_at <= now) {
        insert.run({ ...request, ...bid, from: undefined });
        sweep.run(now, SWEPT_AT_ONCE);
        return { state: 'held', held: { request, token, seed: token, startedAt: now, steps: [] } };
      }
      if (row.fingerprint !== request.fingerprint) return { state: 'mismatch' };
      if (row.status !== null) return { state: 'answered', answer: toAnswer(row, row.status) };
      if (row.process !== '' && row.token !== from) {
        return { state: 'taken', token: row.token, process: row.process };
      }
      const { tenantId, route, key } = request;
      takeOver.run({ tenantId, route, key, token, process });
      return { state: 'held', held: toHeld(request, token, row) };
    },
    answerKey: ({ tenantId, route, key }, token, kept) =>
      answer.run({ tenantId, route, key, token, ...kept }).changes === 1,
    releaseKey({ tenantId, route, key }, token) {
      const holder = { tenantId, route, key, token };
      if (removeUnused.run(holder).changes === 0) letGo.run(holder);
    },
  } satisfies Part<IdempotencyStore> & Record<'bidForKey', unknown>;
}

/**
 * Drops what is kept of every keyed request of a tenant that holds one of the texts, such as a lead's id, its signals' ids
 * or its address: part of an erasure. A walk over one tenant's last 24 hours; erasures are rare.
 */
export function createAnswerEraser(db: Database): (tenantId: string, texts: readonly string[]) => void {
  const forget = db.prepare<[string, string, string]>(
    `DELETE FROM idempotency_keys WHERE tenant_id = ? AND (instr(body, ?) > 0 OR instr(steps, ?) > 0)`,
  );

  return (tenantId, texts) => {
    for (const text of texts) {
      const inJson = JSON.stringify(text).slice(1, -1);
      if (inJson !== '') forget.run(tenantId, inJson, inJson);
    }
  };
}

function toHeld(request: KeyedRequest, token: string, { seed, started_at, steps }: KeyRow): HeldKey {
  const lines = steps.split('\n').filter((line) => line !== '');
  return {
    request,
    token,
    seed,
    startedAt: started_at,
    steps: lines.map((line) => JSON.parse(line) as Step),
  };
}

function toAnswer({ location, body }: KeyRow, status: number): KeptAnswer {
  return { status, location, body: body ?? '' };
}
