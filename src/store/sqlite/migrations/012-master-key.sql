-- Identifies the database's master key: a database encrypted with another key is not opened.
CREATE TABLE master_key (
  id    INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  proof TEXT    NOT NULL
) STRICT;
