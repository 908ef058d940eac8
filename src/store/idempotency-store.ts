/** A POST that carries an `Idempotency-Key`. `fingerprint` tells whether two such are the same request. */
export interface KeyedRequest {
  tenantId: string;
  /** Method and pattern, e.g. `POST /v1/leads`: a key counts for one route. */
  route: string;
  key: string;
  fingerprint: string;
}

/** The right to run a keyed request. `token` fences what its holder stores: a later holder's differs. */
export interface Reservation {
  token: string;
  /** Unix milliseconds. */
  now: number;
  /** When an unanswered request no longer counts as running. */
  leaseUntil: number;
  /** When the key may be used for anything again. */
  expiresAt: number;
}

/** What is kept of a success. */
export interface KeptAnswer {
  status: number;
  location: string | null;
  body: string;
}

/**
 * States of a key: free → running → answered → free (expired), running → free (released), and
 * running → lost → free where its process died between the change and its answer: then nobody knows whether the request
 * took effect. `lost` is told once and frees the key, so that the caller can look before running it again.
 */
export type Reserved =
  | { state: 'reserved' | 'running' | 'mismatch' | 'lost' }
  | { state: 'answered'; answer: KeptAnswer };

/** Answers of keyed requests, so that a retry gets the first answer instead of a second effect. */
export interface IdempotencyStore {
  /** `reserved`: the caller runs it and then answers or releases. Atomic: of many at once one gets it. */
  reserveKey(request: KeyedRequest, reservation: Reservation): Promise<Reserved>;
  /** Keeps the success for the rest of the key's time; false where the reservation is no longer the holder's. */
  answerKey(request: KeyedRequest, token: string, answer: KeptAnswer): Promise<boolean>;
  /** Frees a key whose request did not succeed. */
  releaseKey(request: KeyedRequest, token: string): Promise<void>;
}
