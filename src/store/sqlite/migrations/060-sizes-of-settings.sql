-- What limits of a plan count in settings, so that a change does not read all of them: 0.3 s for a thousand long profiles.
ALTER TABLE icp_profiles ADD COLUMN phrase_count INTEGER NOT NULL DEFAULT 0;
UPDATE icp_profiles
SET phrase_count = ifnull(json_array_length(settings, '$.phrases'), 0) + ifnull(json_array_length(settings, '$.excludedPhrases'), 0)
  + ifnull(json_array_length(settings, '$.competitors'), 0);
CREATE INDEX icp_profiles_phrases ON icp_profiles (tenant_id, id, phrase_count) WHERE deleted_at IS NULL;

ALTER TABLE webhook_endpoints ADD COLUMN format_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE webhook_endpoints SET format_bytes = octet_length(settings -> '$.payload_format')
WHERE json_type(settings, '$.payload_format') <> 'null';
CREATE INDEX webhook_endpoints_formats ON webhook_endpoints (tenant_id, format_bytes, id)
  WHERE format_bytes > 0 AND deleted_at IS NULL;
