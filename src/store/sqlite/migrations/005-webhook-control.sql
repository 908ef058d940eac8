-- Pause and hold, delivery logs, dead letters, retention, account mail.

-- While paused: since when, and when to probe next (null: never) after how many probes.
ALTER TABLE webhook_endpoints ADD COLUMN paused_at INTEGER;
ALTER TABLE webhook_endpoints ADD COLUMN next_probe_at INTEGER;
ALTER TABLE webhook_endpoints ADD COLUMN probes INTEGER NOT NULL DEFAULT 0;
-- Set once nothing waits for a deleted endpoint any more.
ALTER TABLE webhook_endpoints ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0;
CREATE INDEX webhook_endpoints_paused ON webhook_endpoints (paused_at) WHERE status = 'paused' AND deleted_at IS NULL;
CREATE INDEX webhook_endpoints_probed ON webhook_endpoints (next_probe_at) WHERE next_probe_at IS NOT NULL;
CREATE INDEX webhook_endpoints_deleted ON webhook_endpoints (deleted_at) WHERE deleted_at IS NOT NULL;

UPDATE webhook_endpoints
SET settings = json_set(settings, '$.payload_format', NULL, '$.auto_resume', json('true'))
WHERE json_type(settings, '$.auto_resume') IS NULL;

-- `held` is not stored: it is what a waiting delivery of a paused endpoint is shown as. To pause or resume an endpoint
-- is thus one row, whatever its backlog.
DROP INDEX deliveries_held;
UPDATE deliveries SET status = 'pending', next_attempt_at = created_at WHERE status = 'held';

-- The event's type, so that a log filtered by it need not look up the event of every row.
ALTER TABLE deliveries ADD COLUMN event_type TEXT NOT NULL DEFAULT '';
UPDATE deliveries SET event_type = (SELECT e.type FROM events e WHERE e.id = event_id);
-- Logs, newest first. Neither of these changes while a delivery is on its way: what ends well costs them nothing. The
-- states it can end badly in have an index of their own; what waits is found by deliveries_due.
CREATE INDEX deliveries_by_time ON deliveries (tenant_id, created_at, id, event_type);
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, created_at, id, event_type);
CREATE INDEX deliveries_ended ON deliveries (tenant_id, status, created_at, id, endpoint_id, event_type)
  WHERE status IN ('dead', 'discarded', 'rejected', 'expired');
CREATE INDEX deliveries_expiring ON deliveries (expires_at) WHERE status = 'dead';

-- When a test delivery was sent: it counts for the throttle, over a restart too. Kept for minutes.
CREATE TABLE test_sends (
  id          TEXT    NOT NULL PRIMARY KEY,
  endpoint_id TEXT    NOT NULL,
  started_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX test_sends_by_time ON test_sends (started_at);

-- Mail to account owners, written with the change that it tells of. The address is looked up when it is sent.
CREATE TABLE mail_outbox (
  id              TEXT    NOT NULL PRIMARY KEY,
  tenant_id       TEXT    NOT NULL REFERENCES tenants (id),
  kind            TEXT    NOT NULL,
  -- What its text is made of, as JSON.
  facts           TEXT    NOT NULL,
  created_at      INTEGER NOT NULL,
  tries           INTEGER NOT NULL DEFAULT 0,
  -- Null once it was sent or given up.
  next_try_at     INTEGER,
  sent_at         INTEGER,
  -- Set once the log has said that it waits for want of a mail server.
  announced       INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_outbox_due ON mail_outbox (next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX mail_outbox_of_tenant ON mail_outbox (tenant_id, created_at, id);

CREATE INDEX tenants_on_trial ON tenants (trial_ends_at) WHERE plan = 'trial';
