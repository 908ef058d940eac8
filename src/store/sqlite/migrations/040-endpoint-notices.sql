-- Whether somebody was notified that an endpoint fails, or is paused: its next success says that it has recovered.
ALTER TABLE webhook_endpoints ADD COLUMN alarm TEXT NOT NULL DEFAULT 'none';
UPDATE webhook_endpoints SET alarm = iif(status = 'paused', 'paused', 'failing')
WHERE deleted_at IS NULL AND (status = 'paused' OR consecutive_failures >= 10);

-- What happened to endpoints and deliveries, stored with the change that brought it about, and waiting to be made events.
CREATE TABLE endpoint_notices (
  id          INTEGER NOT NULL PRIMARY KEY,
  tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
  type        TEXT    NOT NULL,
  endpoint_id TEXT    NOT NULL,
  -- JSON: what the event's data says besides the endpoint.
  facts       TEXT    NOT NULL
) STRICT;
