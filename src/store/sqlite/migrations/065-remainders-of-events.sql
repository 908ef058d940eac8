-- The lists of migration 063 under a better name.
ALTER TABLE event_rests RENAME TO event_remainders;
DROP INDEX event_rests_by_tenant;
CREATE INDEX event_remainders_by_tenant ON event_remainders (tenant_id, event_id, part);
