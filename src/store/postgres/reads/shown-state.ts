/**
 * Waiting deliveries are `held` while the endpoint is paused, and `discarded` once it is deleted; neither changes the
 * row.
 */
export const SHOWN_STATUS = `CASE
    WHEN d.status NOT IN ('pending', 'retrying') THEN d.status
    WHEN e.deleted_at IS NOT NULL THEN 'discarded'
    WHEN e.status = 'paused' THEN 'held'
    ELSE d.status END`;

/** The columns of a `DeliverySummary`, for `deliveries d`. */
export const SHOWN_COLUMNS = `d.id, d.endpoint_id AS "endpointId", d.event_id AS "eventId", d.event_type AS "eventType",
  v.subject_id AS "subjectId", ${SHOWN_STATUS} AS status, d.attempt_count AS "attemptCount",
  CASE WHEN e.status = 'active' AND e.deleted_at IS NULL THEN d.next_attempt_at END AS "nextAttemptAt",
  d.created_at AS "createdAt", d.expires_at AS "expiresAt"`;

/** The joins for {@link SHOWN_COLUMNS}. */
export const SHOWN_JOINS =
  'JOIN webhook_endpoints e ON e.id = d.endpoint_id JOIN events v ON v.id = d.event_id';
