-- Events that an endpoint is not told one by one: they wait to be sent in one message, and afterwards say in which one.
CREATE TABLE batched_events (
  event_id    TEXT NOT NULL REFERENCES events (id),
  endpoint_id TEXT NOT NULL,
  -- Null: waits.
  delivery_id TEXT,
  PRIMARY KEY (event_id, endpoint_id)
) STRICT, WITHOUT ROWID;
-- Ids of events sort by time.
CREATE INDEX batched_events_waiting ON batched_events (endpoint_id, event_id) WHERE delivery_id IS NULL;
CREATE INDEX batched_events_sent ON batched_events (delivery_id) WHERE delivery_id IS NOT NULL;

-- How often the enrichment provider was asked on a day (UTC): its price is bounded over restarts too.
CREATE TABLE enrichment_days (day TEXT NOT NULL PRIMARY KEY, asked INTEGER NOT NULL) STRICT, WITHOUT ROWID;

UPDATE webhook_endpoints SET settings = json_set(settings, '$.batching', 'instant');
