/** The literal condition of the index `deliveries_due`: SQLite uses a partial index only where it reads the same. */
export const WAITING = "status IN ('pending', 'retrying')";

/**
 * The state a delivery is shown in, of `deliveries d` joined with its `webhook_endpoints e`: what waits is `held` while
 * the endpoint is paused and `discarded` once it is deleted, which changes no row of the delivery.
 */
export const SHOWN_STATUS = `CASE
    WHEN d.status NOT IN ('pending', 'retrying') THEN d.status
    WHEN e.deleted_at IS NOT NULL THEN 'discarded'
    WHEN e.status = 'paused' THEN 'held'
    ELSE d.status END`;

/** When the next attempt is planned; null where none is. */
const SHOWN_NEXT_ATTEMPT =
  "CASE WHEN e.status = 'active' AND e.deleted_at IS NULL THEN d.next_attempt_at END";

/** A `DeliverySummary`, of `deliveries d`. */
export const SHOWN_COLUMNS = `d.id, d.endpoint_id AS endpointId, d.event_id AS eventId, d.event_type AS eventType,
  v.subject_id AS subjectId, ${SHOWN_STATUS} AS status, d.attempt_count AS attemptCount,
  ${SHOWN_NEXT_ATTEMPT} AS nextAttemptAt, d.created_at AS createdAt, d.expires_at AS expiresAt`;

/** The joins that {@link SHOWN_COLUMNS} need. */
export const SHOWN_JOINS =
  'JOIN webhook_endpoints e ON e.id = d.endpoint_id JOIN events v ON v.id = d.event_id';

/** Joins a delivery `d` to its body, `b`, and to the text that ends it, `t`. */
export const BODY_JOINS =
  'LEFT JOIN delivery_bodies b ON b.id = d.body_id LEFT JOIN body_tails t ON t.id = b.tail_id';

/** The whole body; null where it is not kept any more. */
export const WHOLE_BODY = 'iif(t.text IS NULL, b.body, b.body || t.text)';
