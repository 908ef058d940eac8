-- Triage of signals, by which lists are filtered. A separate table: a column of `signals` would make this migration rewrite every
-- row, including its text. Its key is `seq`, so that an index scan skips a signal without reading its row.
CREATE TABLE signal_triage (
  seq           INTEGER NOT NULL PRIMARY KEY REFERENCES signals (seq) ON UPDATE CASCADE ON DELETE CASCADE,
  tenant_id     TEXT    NOT NULL,
  is_judged     INTEGER NOT NULL DEFAULT 0,
  is_lead       INTEGER NOT NULL DEFAULT 0,
  -- Email address of a member; empty: nobody.
  assignee      TEXT    NOT NULL DEFAULT '',
  -- Unix milliseconds.
  snoozed_until INTEGER,
  is_done       INTEGER NOT NULL GENERATED ALWAYS AS (max(is_judged, is_lead)) STORED
) STRICT;
CREATE INDEX signal_triage_done ON signal_triage (tenant_id, seq) WHERE is_done;
CREATE INDEX signal_triage_by_assignee ON signal_triage (tenant_id, assignee, seq) WHERE assignee <> '';
CREATE INDEX signal_triage_snoozed ON signal_triage (tenant_id, seq) WHERE snoozed_until IS NOT NULL;

INSERT INTO signal_triage (seq, tenant_id, is_judged, is_lead)
  SELECT s.seq, s.tenant_id, f.signal_id IS NOT NULL, l.signal_id IS NOT NULL
  FROM (SELECT signal_id FROM signal_feedback UNION SELECT signal_id FROM lead_signals) done
  CROSS JOIN signals s ON s.id = done.signal_id
  LEFT JOIN signal_feedback f ON f.signal_id = s.id
  LEFT JOIN lead_signals l ON l.signal_id = s.id;

-- Feedback and leads are created in many ways; with triggers, none of them can omit this.
CREATE TRIGGER signals_judged AFTER INSERT ON signal_feedback BEGIN
  INSERT INTO signal_triage (seq, tenant_id, is_judged)
    SELECT seq, tenant_id, 1 FROM signals WHERE id = NEW.signal_id
    ON CONFLICT (seq) DO UPDATE SET is_judged = 1;
END;
CREATE TRIGGER signals_unjudged AFTER DELETE ON signal_feedback BEGIN
  UPDATE signal_triage SET is_judged = 0 WHERE seq = (SELECT seq FROM signals WHERE id = OLD.signal_id);
END;
CREATE TRIGGER signals_given_to_lead AFTER INSERT ON lead_signals BEGIN
  INSERT INTO signal_triage (seq, tenant_id, is_lead)
    SELECT seq, tenant_id, 1 FROM signals WHERE id = NEW.signal_id
    ON CONFLICT (seq) DO UPDATE SET is_lead = 1;
END;
CREATE TRIGGER signals_taken_from_lead AFTER DELETE ON lead_signals BEGIN
  UPDATE signal_triage SET is_lead = 0 WHERE seq = (SELECT seq FROM signals WHERE id = OLD.signal_id);
END;

-- Filters of the list, saved by a team under a name; `query` is the query string of the address.
CREATE TABLE signal_views (
  id         TEXT    NOT NULL PRIMARY KEY,
  tenant_id  TEXT    NOT NULL REFERENCES tenants (id),
  name       TEXT    NOT NULL,
  query      TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (tenant_id, name)
) STRICT, WITHOUT ROWID;

-- The template for drafts of replies to a post; no row: the default text.
CREATE TABLE reply_templates (
  tenant_id TEXT NOT NULL PRIMARY KEY REFERENCES tenants (id),
  template  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
