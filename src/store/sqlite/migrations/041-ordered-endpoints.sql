-- Whether an endpoint is sent one delivery after the other, in the order of events.
ALTER TABLE webhook_endpoints ADD COLUMN ordered INTEGER NOT NULL DEFAULT 0;
-- Of such an endpoint one delivery at most is retried, and all others wait behind it: found here, among however many. Bodies are
-- numbered in the order by commit, which tells events of one millisecond apart.
CREATE INDEX deliveries_retrying ON deliveries (endpoint_id, body_id, next_attempt_at, id) WHERE status = 'retrying';
