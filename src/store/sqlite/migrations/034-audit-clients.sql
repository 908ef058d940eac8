-- The origin of log-ins and changed credentials: a network, not an address. Empty for every other change.
ALTER TABLE audit ADD COLUMN client TEXT NOT NULL DEFAULT '';
