-- Whether an endpoint is called (`push`) or read (`pull`).
ALTER TABLE webhook_endpoints ADD COLUMN mode TEXT NOT NULL DEFAULT 'push';

-- A delivery stands in the order by commit where its event does, as both are stored in one commit. Those that are stored after
-- their event (messages of several) have a place of their own here, of the same counter.
CREATE TABLE late_deliveries (
  tenant_id   TEXT    NOT NULL,
  position    INTEGER NOT NULL,
  delivery_id TEXT    NOT NULL UNIQUE,
  PRIMARY KEY (tenant_id, position)
) STRICT, WITHOUT ROWID;
