-- Signals whose words are being removed from the search in several commits, before their post is edited, erased or deleted: the
-- first `words` of them, in the order of signal-index.ts, are no longer in the index. What a process did not finish is undone.
CREATE TABLE signal_search_leaving (
  seq        INTEGER NOT NULL PRIMARY KEY,
  words      INTEGER NOT NULL,
  -- Whether nothing was removed since the last look for signals that nobody finishes.
  is_stalled INTEGER NOT NULL DEFAULT 0
) STRICT;
