CREATE TABLE companies (
  id         TEXT    NOT NULL PRIMARY KEY,
  tenant_id  TEXT    NOT NULL REFERENCES tenants (id),
  domain     TEXT    NOT NULL,
  -- Name and domain, folded: the text that "q" searches.
  search     TEXT    NOT NULL,
  -- The current industry, folded; empty if unknown.
  industry   TEXT    NOT NULL,
  -- The known facts and their sources as JSON: read whole, never searched.
  facts      TEXT    NOT NULL,
  -- The time of the last signal, to the hour, so that a burst of signals updates the row once; 0: no signals.
  active_at  INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX companies_by_domain ON companies (tenant_id, domain);
CREATE INDEX companies_by_time ON companies (tenant_id, created_at, id, search);
CREATE INDEX companies_by_activity ON companies (tenant_id, active_at, id, search);
CREATE INDEX companies_by_industry ON companies (tenant_id, industry, created_at, id) WHERE industry <> '';

-- Ends in the score, so that a company's counts and best signals are read from the index alone.
DROP INDEX signals_by_domain;
CREATE INDEX signals_by_domain ON signals (tenant_id, company_domain, timestamp, id, score) WHERE company_domain <> '';

-- The companies of existing signals; beside max(), the other columns are those of the newest signal.
INSERT INTO companies
  (id, tenant_id, domain, search, industry, facts, active_at, created_at, updated_at, version)
SELECT
  'cmp_' || substr(id, 5, 9) || lower(hex(randomblob(8))),
  tenant_id,
  company_domain,
  lower(wire ->> '$.company.name') || ' ' || company_domain,
  lower(wire ->> '$.company.industry'),
  (
    SELECT json_object('manual', json_object(), 'observed', json_group_object(
      key, json_object('value', value, 'signal_id', signals.id, 'at', timestamp)
    ))
    FROM json_each(wire, '$.company')
    WHERE key IN ('name', 'industry', 'headcount', 'location') AND value <> ''
  ),
  max(timestamp) / 3600000 * 3600000,
  timestamp,
  timestamp,
  1
FROM signals
WHERE company_domain <> ''
GROUP BY tenant_id, company_domain;
