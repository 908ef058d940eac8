-- Members of a tenant besides its owner. Nobody is in the same tenant twice.
CREATE UNIQUE INDEX owners_by_address ON owners (tenant_id, lower(email));
-- Second factors: the secret, encrypted with the master key; not active while `totp_since` is null.
ALTER TABLE owners ADD COLUMN totp_box BLOB;
ALTER TABLE owners ADD COLUMN totp_since INTEGER;
-- The time step of the last accepted code, so that none is accepted twice (RFC 6238, section 5.2).
ALTER TABLE owners ADD COLUMN totp_step INTEGER NOT NULL DEFAULT 0;
CREATE TABLE recovery_codes (
  user_id   TEXT NOT NULL REFERENCES owners (id),
  code_hash TEXT NOT NULL,
  PRIMARY KEY (user_id, code_hash)
) STRICT, WITHOUT ROWID;

-- The ID of a session in lists, and its kind of browser.
ALTER TABLE sessions ADD COLUMN id TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN client TEXT NOT NULL DEFAULT '';
UPDATE sessions SET id = lower(hex(randomblob(12)));

-- The audit log. Bulk changes are combined in one row with a count for each actor and hour (`gathered`).
CREATE TABLE audit (
  position  INTEGER NOT NULL PRIMARY KEY,
  tenant_id TEXT    NOT NULL REFERENCES tenants (id),
  at        INTEGER NOT NULL,
  actor     TEXT    NOT NULL,
  action    TEXT    NOT NULL,
  subject   TEXT    NOT NULL,
  count     INTEGER NOT NULL,
  gathered  TEXT
) STRICT;
CREATE INDEX audit_by_time ON audit (tenant_id, at, position);
CREATE INDEX audit_by_actor ON audit (tenant_id, actor, at, position);
CREATE INDEX audit_by_action ON audit (tenant_id, action, at, position);
CREATE UNIQUE INDEX audit_gathered ON audit (tenant_id, actor, action, gathered) WHERE gathered IS NOT NULL;
