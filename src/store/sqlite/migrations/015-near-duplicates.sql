-- Two posts are not one for having the same page: with both external ids known the id decides, so that an address may
-- stand at several signals.
DROP INDEX signals_known_by_url;
CREATE INDEX signals_known_by_url ON signals (tenant_id, profile_id, platform, canonical_url)
  WHERE canonical_url IS NOT NULL;

-- Where else the post of a signal was seen: what it is known by there. The places themselves stand in the signal's JSON.
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

-- Whoever posted at any of its places is its author: whom erasing it concerns.
CREATE INDEX signal_people_by_signal ON signal_people (signal_id);

-- Keys of texts (lib/near-text.ts), mixed with their profile: signals with a key in common may be one post. `seq` is that
-- of the signal, so that the newest stand last.
CREATE TABLE signal_near_keys (
  key INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (key, seq)
) STRICT, WITHOUT ROWID;
