-- The ratings of a profile, newest first, without scanning all signals of the tenant.
ALTER TABLE signal_feedback ADD COLUMN profile_id TEXT NOT NULL DEFAULT '';
ALTER TABLE signal_feedback ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
UPDATE signal_feedback SET (profile_id, seq) = (SELECT profile_id, seq FROM signals WHERE id = signal_id);
CREATE INDEX signal_feedback_by_profile ON signal_feedback (profile_id, seq);

-- A tenant's leads in the order of their rows, in which erasure scans them.
CREATE INDEX leads_in_order ON leads (tenant_id);
