-- Whether an endpoint is called (`push`) or read (`pull`).
ALTER TABLE webhook_endpoints ADD COLUMN mode TEXT NOT NULL DEFAULT 'push';

-- A delivery's position in the commit order is that of its event, because both are stored in one commit. Deliveries stored after
-- their event (messages of several) have a position of their own here, from the same counter.
CREATE TABLE late_deliveries (
  tenant_id   TEXT    NOT NULL,
  position    INTEGER NOT NULL,
  delivery_id TEXT    NOT NULL UNIQUE,
  PRIMARY KEY (tenant_id, position)
) STRICT, WITHOUT ROWID;
