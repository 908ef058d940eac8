-- Asked before posts are matched: whether the profiles are still those that were compiled.
CREATE INDEX icp_profiles_by_version ON icp_profiles (tenant_id, version, deleted_at);
