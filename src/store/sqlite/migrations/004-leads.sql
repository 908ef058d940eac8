-- A lead is made as JSON when it changes; the columns beside it are what is filtered, sorted and summed.
CREATE TABLE leads (
  id             TEXT    NOT NULL PRIMARY KEY,
  tenant_id      TEXT    NOT NULL REFERENCES tenants (id),
  stage          TEXT    NOT NULL,
  -- Of the best attached signal; -1 and '' where there is none.
  score          INTEGER NOT NULL,
  classification TEXT    NOT NULL,
  company_domain TEXT    NOT NULL,
  source         TEXT    NOT NULL,
  deal_currency  TEXT,
  deal_amount    INTEGER,
  created_at     INTEGER NOT NULL,
  -- Grows with each change: a change applies only to the version it was decided on.
  version        INTEGER NOT NULL,
  wire           TEXT    NOT NULL
) STRICT;
-- As those of signals: each in the order of a page, followed by the other filters.
CREATE INDEX leads_by_time ON leads (tenant_id, created_at, id, stage, classification, score, source);
CREATE INDEX leads_by_score ON leads (tenant_id, score, created_at, id, stage, classification, source);
-- The board counts and sums in this one alone.
CREATE INDEX leads_by_stage
  ON leads (tenant_id, stage, created_at, id, classification, score, deal_currency, deal_amount);
CREATE INDEX leads_by_classification ON leads (tenant_id, classification, created_at, id, stage, score);
CREATE INDEX leads_by_source ON leads (tenant_id, source, created_at, id, stage, classification, score);
CREATE INDEX leads_by_domain ON leads (tenant_id, company_domain, created_at, id) WHERE company_domain <> '';

-- What a person is known again by (e-mail, LinkedIn profile, name at a company): one lead each, and the key decides races.
CREATE TABLE lead_identities (
  tenant_id TEXT NOT NULL REFERENCES tenants (id),
  key       TEXT NOT NULL,
  lead_id   TEXT NOT NULL REFERENCES leads (id),
  PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX lead_identities_by_lead ON lead_identities (lead_id);

-- Tags in the form they are compared in, in the order of a page.
CREATE TABLE lead_tags (
  tenant_id  TEXT    NOT NULL REFERENCES tenants (id),
  tag        TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  lead_id    TEXT    NOT NULL REFERENCES leads (id),
  PRIMARY KEY (tenant_id, tag, created_at, lead_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX lead_tags_by_lead ON lead_tags (lead_id);

-- A signal belongs to one lead at most.
CREATE TABLE lead_signals (
  lead_id   TEXT NOT NULL REFERENCES leads (id),
  signal_id TEXT NOT NULL UNIQUE REFERENCES signals (id),
  PRIMARY KEY (lead_id, signal_id)
) STRICT, WITHOUT ROWID;

-- Every move through the pipeline, the first into it included.
CREATE TABLE stage_moves (
  lead_id    TEXT    NOT NULL REFERENCES leads (id),
  position   INTEGER NOT NULL,
  previous   TEXT,
  current    TEXT    NOT NULL,
  reason     TEXT    NOT NULL,
  actor_id   TEXT    NOT NULL,
  actor_name TEXT    NOT NULL,
  moved_at   INTEGER NOT NULL,
  -- How long the lead was in the previous stage; null for its first.
  stayed_ms  INTEGER,
  PRIMARY KEY (lead_id, position)
) STRICT, WITHOUT ROWID;

-- Whose posts a tenant's signals are: finds a person's signals when a lead is made of them, and when they are erased.
CREATE TABLE signal_people (
  tenant_id TEXT NOT NULL REFERENCES tenants (id),
  key       TEXT NOT NULL,
  signal_id TEXT NOT NULL REFERENCES signals (id),
  PRIMARY KEY (tenant_id, key, signal_id)
) STRICT, WITHOUT ROWID;
INSERT INTO signal_people (tenant_id, key, signal_id)
  SELECT tenant_id, 'email:' || lower(trim(json_extract(wire, '$.prospect.email'))), id FROM signals
  WHERE json_extract(wire, '$.prospect.email') <> '';

-- What was told of a person is found by their lead and their signals.
CREATE INDEX events_by_subject ON events (subject_id);
