-- Due probes are listed in parts, and without those of some tenants: all that a row is selected by is in the index, because its settings may take pages.
DROP INDEX webhook_endpoints_probed;
CREATE INDEX webhook_endpoints_probed ON webhook_endpoints (next_probe_at, id, tenant_id, status, deleted_at) WHERE next_probe_at IS NOT NULL;
