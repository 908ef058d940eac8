/** Exactly the condition of the partial index `deliveries_due`: SQLite uses the index only if the text matches. */
export const WAITING = "status IN ('pending', 'retrying')";

/**
 * The displayed status of a delivery, for `deliveries d` joined with `webhook_endpoints e`: waiting deliveries are
 * `held` while the endpoint is paused, and `discarded` once it is deleted; neither changes the row of the delivery.
 */
export const SHOWN_STATUS = `CASE
    WHEN d.status NOT IN ('pending', 'retrying') THEN d.status
    WHEN e.deleted_at IS NOT NULL THEN 'discarded'
    WHEN e.status = 'paused' THEN 'held'
    ELSE d.status END`;

/** When the next attempt is planned; null if none is. */
const SHOWN_NEXT_ATTEMPT =
  "CASE WHEN e.status = 'active' AND e.deleted_at IS NULL THEN d.next_attempt_at END";

/** The columns of a `DeliverySummary`, for `deliveries d`. */
export const SHOWN_COLUMNS = `d.id, d.endpoint_id AS endpointId, d.event_id AS eventId, d.event_type AS eventType,
  v.subject_id AS subjectId, ${SHOWN_STATUS} AS status, d.attempt_count AS attemptCount,
  ${SHOWN_NEXT_ATTEMPT} AS nextAttemptAt, d.created_at AS createdAt, d.expires_at AS expiresAt`;

/** The joins for {@link SHOWN_COLUMNS}. */
export const SHOWN_JOINS =
  'JOIN webhook_endpoints e ON e.id = d.endpoint_id JOIN events v ON v.id = d.event_id';

/** Joins a delivery `d` with its body `b` and the tail `t` of the body. */
export const BODY_JOINS =
  'LEFT JOIN delivery_bodies b ON b.id = d.body_id LEFT JOIN body_tails t ON t.id = b.tail_id';

/** The whole body; null if it is no longer stored. */
export const WHOLE_BODY = 'iif(t.text IS NULL, b.body, b.body || t.text)';
