-- Deleted sources, whose links to signals are removed in pieces: two hundred thousand took 0.26 s in the commit that deleted the source.
CREATE INDEX sources_deleted ON sources (id) WHERE status = 'deleted';

-- Without a reference to the lead, which is erased in one commit, and its moves in several: thirty thousand took 0.1 s.
CREATE TABLE moves_of_leads (
  lead_id    TEXT    NOT NULL,
  position   INTEGER NOT NULL,
  previous   TEXT,
  current    TEXT    NOT NULL,
  reason     TEXT    NOT NULL,
  actor_id   TEXT    NOT NULL,
  actor_name TEXT    NOT NULL,
  moved_at   INTEGER NOT NULL,
  -- Time the lead spent in the previous stage; null for its first.
  stayed_ms  INTEGER,
  PRIMARY KEY (lead_id, position)
) STRICT, WITHOUT ROWID;
INSERT INTO moves_of_leads (lead_id, position, previous, current, reason, actor_id, actor_name, moved_at, stayed_ms)
  SELECT lead_id, position, previous, current, reason, actor_id, actor_name, moved_at, stayed_ms FROM stage_moves;
DROP TABLE stage_moves;
ALTER TABLE moves_of_leads RENAME TO stage_moves;
