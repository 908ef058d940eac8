-- A body is stored once for all deliveries of an event that send the same bytes, and the end added by a payload format is stored
-- once for all bodies with it: nine formats of 250 KB turned 40 posts into 125 MB.

-- The ends of bodies. Identified by content: a format that is changed and changed back has the same text again.
CREATE TABLE body_tails (
  id        INTEGER NOT NULL PRIMARY KEY,
  tenant_id TEXT    NOT NULL REFERENCES tenants (id),
  hash      TEXT    NOT NULL,
  text      TEXT    NOT NULL,
  UNIQUE (tenant_id, hash)
) STRICT;

-- Null: no longer stored. No foreign key: it would need an index on this column, at a cost for every delivery.
ALTER TABLE deliveries ADD COLUMN body_id INTEGER;

CREATE TABLE body_places (delivery_id TEXT NOT NULL PRIMARY KEY, id INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO body_places SELECT delivery_id, row_number() OVER (ORDER BY delivery_id) FROM delivery_bodies;
ALTER TABLE delivery_bodies RENAME TO single_bodies;
CREATE TABLE delivery_bodies (
  id      INTEGER NOT NULL PRIMARY KEY,
  -- Up to the tail, if there is one.
  body    TEXT    NOT NULL,
  tail_id INTEGER REFERENCES body_tails (id)
) STRICT;
INSERT INTO delivery_bodies (id, body)
SELECT p.id, b.body FROM body_places p JOIN single_bodies b ON b.delivery_id = p.delivery_id;
UPDATE deliveries SET body_id = (SELECT p.id FROM body_places p WHERE p.delivery_id = deliveries.id);
DROP TABLE single_bodies;
DROP TABLE body_places;
CREATE INDEX delivery_bodies_by_tail ON delivery_bodies (tail_id) WHERE tail_id IS NOT NULL;

-- Includes the ID of the body, so that a claim still need not look up the delivery itself.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due
  ON deliveries (endpoint_id, next_attempt_at, id, attempt_count, cycle_start, body_id, status)
  WHERE status IN ('pending', 'retrying');

-- The columns of endpoints that each event needs, apart from their settings, which may be large: rows are read from their start.
CREATE INDEX webhook_endpoints_live ON webhook_endpoints (tenant_id, id, version) WHERE deleted_at IS NULL;
