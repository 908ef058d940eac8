-- With all that a claim wants to know of a delivery, so that it need not look for the delivery itself: `status` too, which
-- the condition already tells, as SQLite takes no index for complete that lacks a column of its own condition.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (endpoint_id, next_attempt_at, id, attempt_count, cycle_start, status)
  WHERE status IN ('pending', 'retrying');
