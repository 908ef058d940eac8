-- Two posts with the same page are not necessarily the same: if both external IDs are known, they decide, so several signals
-- may have the same address.
DROP INDEX signals_known_by_url;
CREATE INDEX signals_known_by_url ON signals (tenant_id, profile_id, platform, canonical_url)
  WHERE canonical_url IS NOT NULL;

-- Other places at which a signal's post was seen, by their identity. The places themselves are in the signal's JSON.
CREATE TABLE signal_places (
  signal_id     TEXT    NOT NULL REFERENCES signals (id),
  position      INTEGER NOT NULL,
  tenant_id     TEXT    NOT NULL REFERENCES tenants (id),
  profile_id    TEXT    NOT NULL,
  platform      TEXT    NOT NULL,
  external_id   TEXT,
  canonical_url TEXT,
  PRIMARY KEY (signal_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX signal_places_by_external_id ON signal_places (tenant_id, profile_id, platform, external_id)
  WHERE external_id IS NOT NULL;
CREATE INDEX signal_places_by_url ON signal_places (tenant_id, profile_id, platform, canonical_url)
  WHERE canonical_url IS NOT NULL;

-- The author at any of a signal's places counts as its author: erasing that person concerns it.
CREATE INDEX signal_people_by_signal ON signal_people (signal_id);

-- Keys of texts (lib/near-text.ts), mixed with their profile: signals that share a key may be the same post. `seq` is the
-- signal's, so that the newest come last.
CREATE TABLE signal_near_keys (
  key INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (key, seq)
) STRICT, WITHOUT ROWID;
