-- By the displayed ID: the stored identity of a feed's item also contains the feed's address. An erased person's
-- signal has none.
CREATE INDEX signals_by_external_id ON signals (tenant_id, json_extract(wire, '$.external_id'))
  WHERE external_id IS NOT NULL;
