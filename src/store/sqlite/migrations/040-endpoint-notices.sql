-- Whether users were notified that an endpoint fails or is paused: after its next success, they are notified that it has recovered.
ALTER TABLE webhook_endpoints ADD COLUMN alarm TEXT NOT NULL DEFAULT 'none';
UPDATE webhook_endpoints SET alarm = iif(status = 'paused', 'paused', 'failing')
WHERE deleted_at IS NULL AND (status = 'paused' OR consecutive_failures >= 10);

-- Changes of endpoints and deliveries, stored with the change that caused them, from which events are created.
CREATE TABLE endpoint_notices (
  id          INTEGER NOT NULL PRIMARY KEY,
  tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
  type        TEXT    NOT NULL,
  endpoint_id TEXT    NOT NULL,
  -- JSON: the event's data, except for the endpoint.
  facts       TEXT    NOT NULL
) STRICT;
