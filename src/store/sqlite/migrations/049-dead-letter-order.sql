-- Dead letters in the order of the commits that made them dead: each has a position from the counter of migration 032.
CREATE TABLE dead_letter_positions (
  tenant_id   TEXT    NOT NULL,
  position    INTEGER NOT NULL,
  delivery_id TEXT    NOT NULL UNIQUE,
  PRIMARY KEY (tenant_id, position)
) STRICT, WITHOUT ROWID;
INSERT INTO dead_letter_positions
  SELECT tenant_id, row_number() OVER (PARTITION BY tenant_id ORDER BY expires_at, id), id
  FROM deliveries WHERE status = 'dead';
CREATE TRIGGER deliveries_dead AFTER UPDATE OF status ON deliveries
WHEN NEW.status = 'dead' AND OLD.status <> 'dead' BEGIN
  UPDATE stored_rows SET position = position + 1 WHERE tenant_id = NEW.tenant_id;
  INSERT OR REPLACE INTO dead_letter_positions
    SELECT tenant_id, position, NEW.id FROM stored_rows WHERE tenant_id = NEW.tenant_id;
END;
