-- The changes of a keyed request are stored with it in their own commits (store/request-store.ts), and so is the process that
-- runs it, which distinguishes a request whose process died from a running one. `token` is its holder's; '' in `process`: none.
ALTER TABLE idempotency_keys ADD COLUMN process TEXT NOT NULL DEFAULT '';
-- The seed of the request's IDs and secrets, and its time: the same in each run.
ALTER TABLE idempotency_keys ADD COLUMN seed TEXT NOT NULL DEFAULT '';
ALTER TABLE idempotency_keys ADD COLUMN started_at INTEGER NOT NULL DEFAULT 0;
-- One line of JSON for each change that took effect; empty again once the request is completed.
ALTER TABLE idempotency_keys ADD COLUMN steps TEXT NOT NULL DEFAULT '';
ALTER TABLE idempotency_keys DROP COLUMN lease_until;
-- Unfinished requests of an earlier release have no steps.
DELETE FROM idempotency_keys WHERE status IS NULL;
