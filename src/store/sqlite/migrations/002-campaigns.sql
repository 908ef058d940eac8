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
  -- Grows with each change that a caller makes: a change applies only to the version it was decided on.
  version           INTEGER NOT NULL,
  -- How many recipient numbers were given out.
  recipient_count   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX campaigns_by_time ON campaigns (tenant_id, created_at, id);
CREATE INDEX campaigns_by_status ON campaigns (tenant_id, status, created_at, id);

-- Who a recipient number is: a lead's id, an e-mail address ("email:…"), or both. Events hold the number alone, so that erasing a
-- person is deleting these rows, and what was counted stays counted.
CREATE TABLE campaign_recipients (
  campaign_id TEXT    NOT NULL REFERENCES campaigns (id),
  alias       TEXT    NOT NULL,
  tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
  recipient   INTEGER NOT NULL,
  PRIMARY KEY (campaign_id, alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX campaign_recipients_by_alias ON campaign_recipients (tenant_id, alias);

-- In the order that statistics are counted in: a range is one walk along the table itself.
CREATE TABLE campaign_events (
  campaign_id TEXT    NOT NULL REFERENCES campaigns (id),
  occurred_at INTEGER NOT NULL,
  -- Hash of the caller's event id: all that is asked of it is whether it was seen, and callers put addresses in it.
  event_key   TEXT    NOT NULL,
  type        TEXT    NOT NULL,
  recipient   INTEGER NOT NULL,
  step        INTEGER,
  reply_class TEXT,
  auto        INTEGER NOT NULL,
  -- What was told of a reply: the one thing beside the aliases that names the person.
  told_id     TEXT REFERENCES events (id),
  PRIMARY KEY (campaign_id, occurred_at, event_key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX campaign_events_known ON campaign_events (campaign_id, event_key);
CREATE INDEX campaign_events_told ON campaign_events (campaign_id, recipient) WHERE told_id IS NOT NULL;
