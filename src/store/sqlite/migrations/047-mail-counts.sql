-- Mail that people requested, for as long as the limits look back: by tenant, or by a hash of the address.
CREATE TABLE mail_counts (
  key     TEXT    NOT NULL,
  sent_at INTEGER NOT NULL
) STRICT;
CREATE INDEX mail_counts_by_key ON mail_counts (key, sent_at);
CREATE INDEX mail_counts_by_time ON mail_counts (sent_at);
