-- Results of attempts to an endpoint, by hour (since the epoch) and speed (src/rules/deliveries.ts); -1: they failed. Hours of past
-- days are merged into the first hour of their day. Counting an endpoint's attempts of a month took seconds.
CREATE TABLE endpoint_hours (
  endpoint_id TEXT    NOT NULL,
  hour        INTEGER NOT NULL,
  speed       INTEGER NOT NULL,
  count       INTEGER NOT NULL,
  PRIMARY KEY (endpoint_id, hour, speed)
) STRICT, WITHOUT ROWID;

INSERT INTO endpoint_hours
  SELECT d.endpoint_id,
         CASE WHEN a.started_at < (SELECT max(started_at) FROM attempts) - 2 * 86400000 THEN a.started_at / 86400000 * 24
              ELSE a.started_at / 3600000 END,
         CASE WHEN a.detail LIKE '%"error":null%' THEN CAST(ceil(4 * log2(max(a.duration_ms, 1))) AS INTEGER) ELSE -1 END, count(*)
  FROM attempts a CROSS JOIN deliveries d ON d.id = a.delivery_id
  GROUP BY 1, 2, 3;
