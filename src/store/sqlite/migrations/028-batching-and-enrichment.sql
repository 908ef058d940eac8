-- Events that are batched for an endpoint: they wait to be sent in one message, and afterwards refer to it.
CREATE TABLE batched_events (
  event_id    TEXT NOT NULL REFERENCES events (id),
  endpoint_id TEXT NOT NULL,
  -- Null: waiting.
  delivery_id TEXT,
  PRIMARY KEY (event_id, endpoint_id)
) STRICT, WITHOUT ROWID;
-- IDs of events sort by time.
CREATE INDEX batched_events_waiting ON batched_events (endpoint_id, event_id) WHERE delivery_id IS NULL;
CREATE INDEX batched_events_sent ON batched_events (delivery_id) WHERE delivery_id IS NOT NULL;

-- The number of requests to the enrichment provider on a day (UTC): its cost is limited across restarts, too.
CREATE TABLE enrichment_days (day TEXT NOT NULL PRIMARY KEY, asked INTEGER NOT NULL) STRICT, WITHOUT ROWID;

UPDATE webhook_endpoints SET settings = json_set(settings, '$.batching', 'instant');
