-- By the id that is shown: of a feed's item the one that it is known by holds the feed's address as well. An erased person's
-- signal has none.
CREATE INDEX signals_by_external_id ON signals (tenant_id, json_extract(wire, '$.external_id'))
  WHERE external_id IS NOT NULL;
