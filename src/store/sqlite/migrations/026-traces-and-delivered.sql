-- The W3C traceparent of an event's cause, if that was traced: its deliveries continue the trace.
ALTER TABLE events ADD COLUMN trace TEXT;

-- Successful deliveries, newest first, without scanning waiting deliveries: skipping a million of them took seconds.
CREATE INDEX deliveries_delivered ON deliveries (tenant_id, created_at, id, endpoint_id, event_type)
  WHERE status = 'delivered';
