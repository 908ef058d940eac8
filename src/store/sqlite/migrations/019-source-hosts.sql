-- The host that a source's requests go to: that of its address, or the service, which is its kind, if it has no address. At most
-- one source per host is read at a time.
ALTER TABLE sources ADD COLUMN host TEXT GENERATED ALWAYS AS (
  CASE
    WHEN json_extract(settings, '$.url') IS NULL THEN replace(kind, 'hackernews_hiring', 'hackernews')
    ELSE substr(
      substr(json_extract(settings, '$.url'), instr(json_extract(settings, '$.url'), '//') + 2),
      1,
      instr(substr(json_extract(settings, '$.url'), instr(json_extract(settings, '$.url'), '//') + 2) || '/', '/') - 1)
  END) VIRTUAL;
