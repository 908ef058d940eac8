-- A keyed request's changes are kept with it in their own commits (store/idempotency-store.ts), and which process runs it
-- is known, so that one whose process died is told from one that runs. `token` is its holder's; '' in `process`: nobody's.
ALTER TABLE idempotency_keys ADD COLUMN process TEXT NOT NULL DEFAULT '';
-- What ids and secrets of the request follow from, and its time: the same in each run of it.
ALTER TABLE idempotency_keys ADD COLUMN seed TEXT NOT NULL DEFAULT '';
ALTER TABLE idempotency_keys ADD COLUMN started_at INTEGER NOT NULL DEFAULT 0;
-- A line of JSON for each change that took effect; empty again once it is answered.
ALTER TABLE idempotency_keys ADD COLUMN steps TEXT NOT NULL DEFAULT '';
ALTER TABLE idempotency_keys DROP COLUMN lease_until;
-- Of what an earlier release began and did not answer nothing is known.
DELETE FROM idempotency_keys WHERE status IS NULL;
