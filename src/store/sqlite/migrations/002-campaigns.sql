CREATE TABLE campaigns (
  id                TEXT    NOT NULL PRIMARY KEY,
  tenant_id         TEXT    NOT NULL REFERENCES tenants (id),
  name              TEXT    NOT NULL,
  status            TEXT    NOT NULL,
  -- Description, channel, steps and planned times as JSON: read whole, never searched.
  settings          TEXT    NOT NULL,
  started_at        INTEGER,
  completed_at      INTEGER,
  status_changed_at INTEGER NOT NULL,
  created_at        INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL,
  -- Increases with each change by a caller: a change applies only to the version it was based on.
  version           INTEGER NOT NULL,
  -- The number of recipient numbers assigned.
  recipient_count   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX campaigns_by_time ON campaigns (tenant_id, created_at, id);
CREATE INDEX campaigns_by_status ON campaigns (tenant_id, status, created_at, id);

-- Maps a recipient number to a lead's ID, an email address ("email:…"), or both. Events contain only the number, so that erasing a
-- person means deleting these rows, and counts stay correct.
CREATE TABLE campaign_recipients (
  campaign_id TEXT    NOT NULL REFERENCES campaigns (id),
  alias       TEXT    NOT NULL,
  tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
  recipient   INTEGER NOT NULL,
  PRIMARY KEY (campaign_id, alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX campaign_recipients_by_alias ON campaign_recipients (tenant_id, alias);

-- In the order in which statistics are counted: a range is one scan of the table.
CREATE TABLE campaign_events (
  campaign_id TEXT    NOT NULL REFERENCES campaigns (id),
  occurred_at INTEGER NOT NULL,
  -- Hash of the caller's event ID: it is only compared, and callers may put addresses in it.
  event_key   TEXT    NOT NULL,
  type        TEXT    NOT NULL,
  recipient   INTEGER NOT NULL,
  step        INTEGER,
  reply_class TEXT,
  auto        INTEGER NOT NULL,
  -- The event that reported a reply: the only other column, besides the aliases, that identifies the person.
  told_id     TEXT REFERENCES events (id),
  PRIMARY KEY (campaign_id, occurred_at, event_key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX campaign_events_known ON campaign_events (campaign_id, event_key);
CREATE INDEX campaign_events_told ON campaign_events (campaign_id, recipient) WHERE told_id IS NOT NULL;
