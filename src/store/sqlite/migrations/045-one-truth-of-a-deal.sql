-- The owner of a lead, and the date of its next step while it is open.
ALTER TABLE leads ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE leads ADD COLUMN next_due TEXT;
CREATE INDEX leads_by_owner ON leads (tenant_id, owner, created_at, id) WHERE owner <> '';
CREATE INDEX leads_by_next_due ON leads (tenant_id, next_due, id) WHERE next_due IS NOT NULL;
UPDATE leads SET version = version + 1,
  wire = json_set(wire, '$.owner', '', '$.notes', '', '$.next_step', json('null'));

-- A deal is won or lost exactly if its lead is. A deal that was closed while its lead was in an open stage moves the lead;
-- if both were closed, or only the lead was, the stage decides.
INSERT INTO stage_moves (lead_id, position, previous, current, reason, actor_id, actor_name, moved_at, stayed_ms)
  SELECT l.id, (SELECT ifnull(max(m.position), 0) + 1 FROM stage_moves m WHERE m.lead_id = l.id), l.stage,
         json_extract(l.wire, '$.deal.status'), 'The deal was closed before its lead.', 'system', 'Signalpost',
         CAST(unixepoch(json_extract(l.wire, '$.updated_at'), 'subsec') * 1000 AS INTEGER),
         max(0, CAST((unixepoch(json_extract(l.wire, '$.updated_at'), 'subsec')
                      - unixepoch(json_extract(l.wire, '$.stage_changed_at'), 'subsec')) * 1000 AS INTEGER))
  FROM leads l
  WHERE l.deal_currency IS NOT NULL AND l.stage NOT IN ('won', 'lost')
    AND json_extract(l.wire, '$.deal.status') <> 'open';
UPDATE leads SET stage = json_extract(wire, '$.deal.status'),
  wire = json_set(wire, '$.stage', json_extract(wire, '$.deal.status'),
                  '$.stage_changed_at', json_extract(wire, '$.updated_at'))
  WHERE deal_currency IS NOT NULL AND stage NOT IN ('won', 'lost') AND json_extract(wire, '$.deal.status') <> 'open';
UPDATE leads SET wire = json_set(wire, '$.deal.status', stage)
  WHERE deal_currency IS NOT NULL AND stage IN ('won', 'lost') AND json_extract(wire, '$.deal.status') <> stage;
