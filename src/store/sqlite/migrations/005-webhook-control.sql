-- Pause and hold, delivery logs, dead letters, retention, account mail.

-- While paused: since when, the time of the next probe (null: never), and the number of probes so far.
ALTER TABLE webhook_endpoints ADD COLUMN paused_at INTEGER;
ALTER TABLE webhook_endpoints ADD COLUMN next_probe_at INTEGER;
ALTER TABLE webhook_endpoints ADD COLUMN probes INTEGER NOT NULL DEFAULT 0;
-- Set once a deleted endpoint has no more waiting deliveries.
ALTER TABLE webhook_endpoints ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0;
CREATE INDEX webhook_endpoints_paused ON webhook_endpoints (paused_at) WHERE status = 'paused' AND deleted_at IS NULL;
CREATE INDEX webhook_endpoints_probed ON webhook_endpoints (next_probe_at) WHERE next_probe_at IS NOT NULL;
CREATE INDEX webhook_endpoints_deleted ON webhook_endpoints (deleted_at) WHERE deleted_at IS NOT NULL;

UPDATE webhook_endpoints
SET settings = json_set(settings, '$.payload_format', NULL, '$.auto_resume', json('true'))
WHERE json_type(settings, '$.auto_resume') IS NULL;

-- `held` is not stored: it is how a waiting delivery of a paused endpoint is displayed. Pausing or resuming an endpoint
-- therefore changes one row, whatever its backlog.
DROP INDEX deliveries_held;
UPDATE deliveries SET status = 'pending', next_attempt_at = created_at WHERE status = 'held';

-- The event's type, so that a filtered log need not look up the event of every row.
ALTER TABLE deliveries ADD COLUMN event_type TEXT NOT NULL DEFAULT '';
UPDATE deliveries SET event_type = (SELECT e.type FROM events e WHERE e.id = event_id);
-- Logs, newest first. Neither changes while a delivery is in progress: a successful one costs them nothing. The failed
-- states have an index of their own; waiting deliveries are found by deliveries_due.
CREATE INDEX deliveries_by_time ON deliveries (tenant_id, created_at, id, event_type);
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, created_at, id, event_type);
CREATE INDEX deliveries_ended ON deliveries (tenant_id, status, created_at, id, endpoint_id, event_type)
  WHERE status IN ('dead', 'discarded', 'rejected', 'expired');
CREATE INDEX deliveries_expiring ON deliveries (expires_at) WHERE status = 'dead';

-- When a test delivery was sent: it counts for the throttle, also after a restart. Kept for minutes.
CREATE TABLE test_sends (
  id          TEXT    NOT NULL PRIMARY KEY,
  endpoint_id TEXT    NOT NULL,
  started_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX test_sends_by_time ON test_sends (started_at);

-- Mail to account owners, written with the change that it is about. The address is looked up when the mail is sent.
CREATE TABLE mail_outbox (
  id              TEXT    NOT NULL PRIMARY KEY,
  tenant_id       TEXT    NOT NULL REFERENCES tenants (id),
  kind            TEXT    NOT NULL,
  -- The data of its text, as JSON.
  facts           TEXT    NOT NULL,
  created_at      INTEGER NOT NULL,
  tries           INTEGER NOT NULL DEFAULT 0,
  -- Null after it was sent or given up.
  next_try_at     INTEGER,
  sent_at         INTEGER,
  -- Set after the log has reported that it waits because no mail server is configured.
  announced       INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_outbox_due ON mail_outbox (next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX mail_outbox_of_tenant ON mail_outbox (tenant_id, created_at, id);

CREATE INDEX tenants_on_trial ON tenants (trial_ends_at) WHERE plan = 'trial';
