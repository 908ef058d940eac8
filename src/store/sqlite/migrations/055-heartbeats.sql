-- The time of a process's last heartbeat. Earlier processes recorded it differently, and none of them has this schema.
ALTER TABLE processes ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
