-- Events from before an endpoint was made that it asked for: from when on, and up to which place of the order by commit it has
-- got them. Null: it asked for none, or has them all.
ALTER TABLE webhook_endpoints ADD COLUMN backfill_from INTEGER;
ALTER TABLE webhook_endpoints ADD COLUMN backfill_position INTEGER NOT NULL DEFAULT 0;
CREATE INDEX webhook_endpoints_backfilled ON webhook_endpoints (created_at)
  WHERE backfill_from IS NOT NULL AND deleted_at IS NULL;
