-- Deliveries of hot signals, which go before others of their endpoint: few, so that an index of their own costs a claim one look
-- and nothing that waits is moved.
ALTER TABLE deliveries ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0;
CREATE INDEX deliveries_urgent
  ON deliveries (endpoint_id, next_attempt_at, id, attempt_count, cycle_start, body_id, status, urgent)
  WHERE status IN ('pending', 'retrying') AND urgent = 1;
