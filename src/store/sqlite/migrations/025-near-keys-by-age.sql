-- Keys of texts that are too old to match new ones are deleted, oldest first. Those of new signals are appended to this
-- index, so it is cheap to maintain.
CREATE INDEX signal_near_keys_by_seq ON signal_near_keys (seq);
