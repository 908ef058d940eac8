-- The commit order. A signal's `seq` and an event's ID show when it was created, up to minutes before its commit makes it
-- visible; a client that continues from the newest one it has seen would miss those. SQLite's writers take turns, so a number
-- assigned within the transaction is greater than every number that was visible before.
--
-- One counter per tenant, in a row of its own, so that no number repeats when the newest rows are deleted. It does not fall
-- behind the clock (milliseconds << 10) either: after a backup is restored, new rows still get numbers above those of
-- every cursor issued before.
ALTER TABLE stored_rows ADD COLUMN position INTEGER NOT NULL DEFAULT 0;

-- A separate table: a column of `signals` would make this migration rewrite every row, including its text.
CREATE TABLE signal_positions (
  seq            INTEGER NOT NULL PRIMARY KEY REFERENCES signals (seq) ON UPDATE CASCADE ON DELETE CASCADE,
  tenant_id      TEXT    NOT NULL,
  position       INTEGER NOT NULL,
  -- When a signal was last moved to the end, Unix milliseconds. Set by the change that alters the signal's content, so that
  -- clients that have read past it read it again. Null: never.
  moved_at       INTEGER,
  -- The first position of a signal that was moved.
  first_position INTEGER
) STRICT;

-- IDs of events never repeat, and events are not moved: the number of a deleted one is skipped.
CREATE TABLE event_positions (
  tenant_id TEXT    NOT NULL,
  position  INTEGER NOT NULL,
  event_id  TEXT    NOT NULL,
  PRIMARY KEY (tenant_id, position)
) STRICT, WITHOUT ROWID;

INSERT INTO signal_positions (seq, tenant_id, position)
  SELECT seq, tenant_id, row_number() OVER (PARTITION BY tenant_id ORDER BY seq) FROM signals;
CREATE UNIQUE INDEX signal_positions_in_order ON signal_positions (tenant_id, position);
INSERT INTO event_positions
  SELECT tenant_id, row_number() OVER (PARTITION BY tenant_id ORDER BY created_at, id), id FROM events;
UPDATE stored_rows SET position = max(
  ifnull((SELECT max(position) FROM signal_positions p WHERE p.tenant_id = stored_rows.tenant_id), 0),
  ifnull((SELECT max(position) FROM event_positions p WHERE p.tenant_id = stored_rows.tenant_id), 0));

DROP TRIGGER signals_added;
CREATE TRIGGER signals_added AFTER INSERT ON signals BEGIN
  UPDATE stored_rows SET signals = signals + 1, position = max(position + 1, NEW.timestamp << 10)
  WHERE tenant_id = NEW.tenant_id;
  INSERT INTO signal_positions (seq, tenant_id, position)
    SELECT NEW.seq, tenant_id, position FROM stored_rows WHERE tenant_id = NEW.tenant_id;
END;
CREATE TRIGGER signals_moved AFTER UPDATE OF moved_at ON signal_positions BEGIN
  UPDATE stored_rows SET position = max(position + 1, NEW.moved_at << 10) WHERE tenant_id = NEW.tenant_id;
  UPDATE signal_positions SET first_position = ifnull(first_position, position),
    position = (SELECT r.position FROM stored_rows r WHERE r.tenant_id = NEW.tenant_id)
  WHERE seq = NEW.seq;
END;
CREATE TRIGGER events_added AFTER INSERT ON events BEGIN
  UPDATE stored_rows SET position = max(position + 1, NEW.created_at << 10) WHERE tenant_id = NEW.tenant_id;
  INSERT INTO event_positions SELECT tenant_id, position, NEW.id FROM stored_rows WHERE tenant_id = NEW.tenant_id;
END;

-- The position in that order up to which the daily digest has included signals.
ALTER TABLE tenant_settings ADD COLUMN digest_position INTEGER NOT NULL DEFAULT 0;
UPDATE tenant_settings SET digest_position = ifnull((
  SELECT max(p.position) FROM signals s JOIN signal_positions p ON p.seq = s.seq
  WHERE s.tenant_id = tenant_settings.tenant_id AND s.seq < digest_since << 21), 0)
WHERE digest_since IS NOT NULL;
