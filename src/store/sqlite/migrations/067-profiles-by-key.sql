-- Names of deleted profiles, by which lists of signals are filtered: without reading the settings before them in the row.
CREATE INDEX icp_profiles_by_key ON icp_profiles (tenant_id, name_key);
