-- Filtered by both, a million entries of one key were scanned for the few with the action, in 0.3 s.
CREATE INDEX audit_by_both ON audit (tenant_id, actor, action, at, position);
