-- Deliveries of hot signals, which go before others of their endpoint: they are few, so with an index of their own a claim needs one
-- more look-up, and waiting deliveries are not moved.
ALTER TABLE deliveries ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0;
CREATE INDEX deliveries_urgent
  ON deliveries (endpoint_id, next_attempt_at, id, attempt_count, cycle_start, body_id, status, urgent)
  WHERE status IN ('pending', 'retrying') AND urgent = 1;
