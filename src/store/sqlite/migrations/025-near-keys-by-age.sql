-- Keys of texts that are too old to meet new ones are taken away, oldest first. Those of new signals come at the end of
-- this index, so that it costs little to keep.
CREATE INDEX signal_near_keys_by_seq ON signal_near_keys (seq);
