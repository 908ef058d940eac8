-- Contains all columns that a claim needs, so that it does not look up the delivery itself: also `status`, although the
-- condition implies it, because SQLite considers an index covering only if it has all columns of its condition.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (endpoint_id, next_attempt_at, id, attempt_count, cycle_start, status)
  WHERE status IN ('pending', 'retrying');
