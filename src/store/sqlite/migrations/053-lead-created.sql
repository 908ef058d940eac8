-- Subscriptions to lead.created were based on lead.enriched, which does not happen for a lead without enrichment.
UPDATE webhook_endpoints SET settings = json_set(settings, '$.event_types', json('["lead.created"]'))
WHERE mode = 'mcp' AND json_extract(settings, '$.label') = 'lead.created';
