-- The position goes to the end of the row, because it may take 1.3 MB: to read what stood behind it, SQLite goes through all of it, page by page.
-- A list of a hundred sources took 70 to 300 ms. Columns that are added later would stand behind it again.
ALTER TABLE sources ADD COLUMN last_position TEXT NOT NULL DEFAULT '{}';
UPDATE sources SET last_position = position;
ALTER TABLE sources DROP COLUMN position;
ALTER TABLE sources RENAME COLUMN last_position TO position;
