-- When a process last said that it lives. Those from before said it otherwise, and none of them has this schema.
ALTER TABLE processes ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
