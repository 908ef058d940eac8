-- Backfill of events from before an endpoint was created: the time it starts at, and the position in the commit order up to which
-- it is done. Null: not requested, or complete.
ALTER TABLE webhook_endpoints ADD COLUMN backfill_from INTEGER;
ALTER TABLE webhook_endpoints ADD COLUMN backfill_position INTEGER NOT NULL DEFAULT 0;
CREATE INDEX webhook_endpoints_backfilled ON webhook_endpoints (created_at)
  WHERE backfill_from IS NOT NULL AND deleted_at IS NULL;
