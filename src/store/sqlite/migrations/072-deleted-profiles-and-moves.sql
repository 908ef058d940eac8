-- Lessons of deleted profiles were read again with each change of a profile: 300,000 took 0.6 s.
DELETE FROM profile_lessons WHERE profile_id IN (SELECT id FROM icp_profiles WHERE deleted_at IS NOT NULL);
-- An erasure looks for moves with a reason: of a lead with thousands of moves without one, all were read.
CREATE INDEX stage_moves_with_reason ON stage_moves (lead_id) WHERE reason <> '';
