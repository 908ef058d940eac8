-- Includes the event's type, which is sent as a header: a claim still need not look up the delivery itself.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due
  ON deliveries (endpoint_id, next_attempt_at, id, attempt_count, cycle_start, body_id, status, event_type)
  WHERE status IN ('pending', 'retrying');
DROP INDEX deliveries_urgent;
CREATE INDEX deliveries_urgent
  ON deliveries (endpoint_id, next_attempt_at, id, attempt_count, cycle_start, body_id, status, urgent, event_type)
  WHERE status IN ('pending', 'retrying') AND urgent = 1;
