-- Deliveries of an event to thousands of endpoints that are stored in later commits, so that other changes need not wait for all of
-- them: the commit that stores the event stores these lists, each of which is replaced by its deliveries.
CREATE TABLE event_rests (
  event_id   TEXT    NOT NULL,
  part       INTEGER NOT NULL,
  tenant_id  TEXT    NOT NULL REFERENCES tenants (id),
  -- JSON: deliveries and endpoints, by status and body.
  deliveries TEXT    NOT NULL,
  PRIMARY KEY (event_id, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_rests_by_tenant ON event_rests (tenant_id, event_id, part);
