-- Checked before posts are matched: whether the profiles are still the compiled ones.
CREATE INDEX icp_profiles_by_version ON icp_profiles (tenant_id, version, deleted_at);
