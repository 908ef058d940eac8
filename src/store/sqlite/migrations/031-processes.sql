-- Processes that deliver or read sources, and which of them holds a lease: only those of a dead one are ended.
CREATE TABLE processes (
  name TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
-- Leases from before name no process. None of those processes has this schema, so none of them lives.
INSERT INTO processes (name) VALUES ('');
ALTER TABLE lane_leases ADD COLUMN process TEXT NOT NULL DEFAULT '';
ALTER TABLE sources ADD COLUMN lease_process TEXT NOT NULL DEFAULT '';
