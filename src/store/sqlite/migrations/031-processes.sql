-- Processes that send deliveries or read sources. A lease is ended only if the process that holds it is dead.
CREATE TABLE processes (
  name TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
-- Earlier leases name no process. None of those processes has this schema, so none of them is alive.
INSERT INTO processes (name) VALUES ('');
ALTER TABLE lane_leases ADD COLUMN process TEXT NOT NULL DEFAULT '';
ALTER TABLE sources ADD COLUMN lease_process TEXT NOT NULL DEFAULT '';
