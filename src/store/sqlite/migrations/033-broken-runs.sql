-- How many times in a row the process ended while it read a source.
ALTER TABLE sources ADD COLUMN broken_off INTEGER NOT NULL DEFAULT 0;
