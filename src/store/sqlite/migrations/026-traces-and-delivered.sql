-- The W3C traceparent of what caused an event, where that was traced: its deliveries go on in the same trace.
ALTER TABLE events ADD COLUMN trace TEXT;

-- What was delivered, newest first, behind any number of deliveries that wait: passing by a million of them took seconds.
CREATE INDEX deliveries_delivered ON deliveries (tenant_id, created_at, id, endpoint_id, event_type)
  WHERE status = 'delivered';
