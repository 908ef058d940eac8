-- Whether deliveries to an endpoint are sent one after the other, in the order of events.
ALTER TABLE webhook_endpoints ADD COLUMN ordered INTEGER NOT NULL DEFAULT 0;
-- Such an endpoint has at most one delivery in retry, for which all others wait: found here, however many there are. Bodies are
-- numbered in the commit order, which distinguishes events of the same millisecond.
CREATE INDEX deliveries_retrying ON deliveries (endpoint_id, body_id, next_attempt_at, id) WHERE status = 'retrying';
