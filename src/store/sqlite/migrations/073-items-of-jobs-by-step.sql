-- The remaining input of a job, by step of 25 items: JSON texts in UTF-8, one per line. In `jobs`, all of it was read and parsed for each step,
-- and of 500 items it may have 11 MB.
CREATE TABLE job_items (
  job_id    TEXT    NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  -- The number of items before.
  processed INTEGER NOT NULL,
  items     BLOB    NOT NULL,
  PRIMARY KEY (job_id, processed)
) STRICT;
INSERT INTO job_items (job_id, processed, items)
  SELECT j.id, i.key / 25 * 25, CAST(group_concat(i.value, char(10) ORDER BY i.key) AS BLOB)
  FROM jobs j, json_each(j.items) i WHERE j.finished_at IS NULL AND j.items IS NOT NULL GROUP BY j.id, i.key / 25;
ALTER TABLE jobs DROP COLUMN items;
