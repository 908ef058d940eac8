-- Notices become events in turns of the tenants, one of whom may have a hundred thousand.
CREATE INDEX endpoint_notices_by_tenant ON endpoint_notices (tenant_id, id);
