-- A lead is serialized as JSON when it changes; the other columns are those that are filtered, sorted and summed.
CREATE TABLE leads (
  id             TEXT    NOT NULL PRIMARY KEY,
  tenant_id      TEXT    NOT NULL REFERENCES tenants (id),
  stage          TEXT    NOT NULL,
  -- Of the best attached signal; -1 and '' if there is none.
  score          INTEGER NOT NULL,
  classification TEXT    NOT NULL,
  company_domain TEXT    NOT NULL,
  source         TEXT    NOT NULL,
  deal_currency  TEXT,
  deal_amount    INTEGER,
  created_at     INTEGER NOT NULL,
  -- Increases with each change: a change applies only to the version it was based on.
  version        INTEGER NOT NULL,
  wire           TEXT    NOT NULL
) STRICT;
-- Like the indexes of signals: each in the order of a page, followed by the other filters.
CREATE INDEX leads_by_time ON leads (tenant_id, created_at, id, stage, classification, score, source);
CREATE INDEX leads_by_score ON leads (tenant_id, score, created_at, id, stage, classification, source);
-- The board counts and sums with this index alone.
CREATE INDEX leads_by_stage
  ON leads (tenant_id, stage, created_at, id, classification, score, deal_currency, deal_amount);
CREATE INDEX leads_by_classification ON leads (tenant_id, classification, created_at, id, stage, score);
CREATE INDEX leads_by_source ON leads (tenant_id, source, created_at, id, stage, classification, score);
CREATE INDEX leads_by_domain ON leads (tenant_id, company_domain, created_at, id) WHERE company_domain <> '';

-- Identifies a person (email, LinkedIn profile, name at a company): one lead each; the primary key decides races.
CREATE TABLE lead_identities (
  tenant_id TEXT NOT NULL REFERENCES tenants (id),
  key       TEXT NOT NULL,
  lead_id   TEXT NOT NULL REFERENCES leads (id),
  PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX lead_identities_by_lead ON lead_identities (lead_id);

-- Tags in their comparable form, in the order of a page.
CREATE TABLE lead_tags (
  tenant_id  TEXT    NOT NULL REFERENCES tenants (id),
  tag        TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  lead_id    TEXT    NOT NULL REFERENCES leads (id),
  PRIMARY KEY (tenant_id, tag, created_at, lead_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX lead_tags_by_lead ON lead_tags (lead_id);

-- A signal belongs to at most one lead.
CREATE TABLE lead_signals (
  lead_id   TEXT NOT NULL REFERENCES leads (id),
  signal_id TEXT NOT NULL UNIQUE REFERENCES signals (id),
  PRIMARY KEY (lead_id, signal_id)
) STRICT, WITHOUT ROWID;

-- Every move through the pipeline, including the first.
CREATE TABLE stage_moves (
  lead_id    TEXT    NOT NULL REFERENCES leads (id),
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

-- The people who wrote a tenant's signals: finds a person's signals when a lead is created from them, and when they are erased.
CREATE TABLE signal_people (
  tenant_id TEXT NOT NULL REFERENCES tenants (id),
  key       TEXT NOT NULL,
  signal_id TEXT NOT NULL REFERENCES signals (id),
  PRIMARY KEY (tenant_id, key, signal_id)
) STRICT, WITHOUT ROWID;
INSERT INTO signal_people (tenant_id, key, signal_id)
  SELECT tenant_id, 'email:' || lower(trim(json_extract(wire, '$.prospect.email'))), id FROM signals
  WHERE json_extract(wire, '$.prospect.email') <> '';

-- Events about a person are found by their lead and signals.
CREATE INDEX events_by_subject ON events (subject_id);
