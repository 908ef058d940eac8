-- Subscriptions to lead.created were fed from lead.enriched, which a lead that is not enriched has none of.
UPDATE webhook_endpoints SET settings = json_set(settings, '$.event_types', json('["lead.created"]'))
WHERE mode = 'mcp' AND json_extract(settings, '$.label') = 'lead.created';
