-- Users of the dashboard. An owner who has used the set-up link has a password; the link is then empty.
ALTER TABLE owners ADD COLUMN role TEXT NOT NULL DEFAULT 'owner';
ALTER TABLE owners ADD COLUMN password_hash TEXT;
CREATE INDEX owners_by_email ON owners (lower(email));
CREATE INDEX owners_by_link ON owners (setup_token_hash) WHERE setup_token_hash <> '';

CREATE TABLE sessions (
  token_hash TEXT    NOT NULL PRIMARY KEY,
  user_id    TEXT    NOT NULL REFERENCES owners (id),
  created_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
