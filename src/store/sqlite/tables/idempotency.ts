import type { Database } from 'better-sqlite3';
import type { KeptAnswer, KeyedRequest, Reservation, Reserved } from '../../idempotency-store.ts';

/** Expired keys taken away with each new one: more than come in, so that they die out, and few enough to cost nothing. */
const SWEPT_AT_ONCE = 20;

interface KeyRow {
  fingerprint: string;
  lease_until: number;
  expires_at: number;
  status: number | null;
  location: string | null;
  body: string | null;
}

/** Keys of requests, reserved and answered. */
export function createIdempotencySql(db: Database) {
  const select = db.prepare<[string, string, string], KeyRow>(
    `SELECT fingerprint, lease_until, expires_at, status, location, body FROM idempotency_keys
     WHERE tenant_id = ? AND route = ? AND key = ?`,
  );
  const upsert = db.prepare<Record<string, unknown>[]>(
    `INSERT OR REPLACE INTO idempotency_keys (tenant_id, route, key, fingerprint, token, lease_until, expires_at)
     VALUES (:tenantId, :route, :key, :fingerprint, :token, :leaseUntil, :expiresAt)`,
  );
  const remove = db.prepare<[string, string, string]>(
    'DELETE FROM idempotency_keys WHERE tenant_id = ? AND route = ? AND key = ?',
  );
  const answer = db.prepare<Record<string, unknown>[]>(
    `UPDATE idempotency_keys SET status = :status, location = :location, body = :body
     WHERE tenant_id = :tenantId AND route = :route AND key = :key AND token = :token`,
  );
  const release = db.prepare<Record<string, unknown>[]>(
    `DELETE FROM idempotency_keys
     WHERE tenant_id = :tenantId AND route = :route AND key = :key AND token = :token AND status IS NULL`,
  );
  const sweep = db.prepare<[number, number]>(
    `DELETE FROM idempotency_keys WHERE rowid IN
       (SELECT rowid FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
  );
  const forget = db.prepare<[string, string]>(
    'DELETE FROM idempotency_keys WHERE tenant_id = ? AND body IS NOT NULL AND instr(body, ?) > 0',
  );

  /** Why a key cannot be had, or null where it is free. */
  function taken(request: KeyedRequest, now: number): Reserved | null {
    const row = select.get(request.tenantId, request.route, request.key);
    if (row === undefined || row.expires_at <= now) return null;
    if (row.fingerprint !== request.fingerprint) return { state: 'mismatch' };
    if (row.status !== null) return { state: 'answered', answer: toAnswer(row, row.status) };
    if (row.lease_until > now) return { state: 'running' };
    remove.run(request.tenantId, request.route, request.key);
    return { state: 'lost' };
  }

  return {
    reserve(request: KeyedRequest, { token, now, leaseUntil, expiresAt }: Reservation): Reserved {
      const found = taken(request, now);
      if (found !== null) return found;
      upsert.run({ ...request, token, leaseUntil, expiresAt });
      sweep.run(now, SWEPT_AT_ONCE);
      return { state: 'reserved' };
    },
    answer: ({ tenantId, route, key }: KeyedRequest, token: string, kept: KeptAnswer): boolean =>
      answer.run({ tenantId, route, key, token, ...kept }).changes === 1,
    release({ tenantId, route, key }: KeyedRequest, token: string): void {
      release.run({ tenantId, route, key, token });
    },
    /**
     * Drops every kept answer of the tenant that holds one of `texts`, such as a lead's id, its signals' ids or its
     * address: part of an erasure's transaction. A walk over one tenant's last 24 hours; erasures are rare.
     */
    forgetHolding(tenantId: string, texts: readonly string[]): void {
      for (const text of texts) {
        const inJson = JSON.stringify(text).slice(1, -1);
        if (inJson !== '') forget.run(tenantId, inJson);
      }
    },
  };
}

function toAnswer({ location, body }: KeyRow, status: number): KeptAnswer {
  return { status, location, body: body ?? '' };
}
