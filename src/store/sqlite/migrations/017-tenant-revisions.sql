-- Counts the changes of a tenant's account, keys, profiles and endpoints: cached reads are valid until it increases.
-- Maintained by triggers, so that no change of any process can omit it.
ALTER TABLE tenants ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER tenants_revised AFTER UPDATE OF id, name, plan, trial_ends_at, created_at ON tenants BEGIN
  UPDATE tenants SET revision = revision + 1 WHERE id = NEW.id;
END;
CREATE TRIGGER api_keys_added AFTER INSERT ON api_keys BEGIN
  UPDATE tenants SET revision = revision + 1 WHERE id = NEW.tenant_id;
END;
CREATE TRIGGER api_keys_changed AFTER UPDATE ON api_keys BEGIN
  UPDATE tenants SET revision = revision + 1 WHERE id = NEW.tenant_id;
END;
CREATE TRIGGER api_keys_removed AFTER DELETE ON api_keys BEGIN
  UPDATE tenants SET revision = revision + 1 WHERE id = OLD.tenant_id;
END;
CREATE TRIGGER icp_profiles_added AFTER INSERT ON icp_profiles BEGIN
  UPDATE tenants SET revision = revision + 1 WHERE id = NEW.tenant_id;
END;
CREATE TRIGGER icp_profiles_changed AFTER UPDATE ON icp_profiles BEGIN
  UPDATE tenants SET revision = revision + 1 WHERE id = NEW.tenant_id;
END;
CREATE TRIGGER icp_profiles_removed AFTER DELETE ON icp_profiles BEGIN
  UPDATE tenants SET revision = revision + 1 WHERE id = OLD.tenant_id;
END;
CREATE TRIGGER webhook_endpoints_added AFTER INSERT ON webhook_endpoints BEGIN
  UPDATE tenants SET revision = revision + 1 WHERE id = NEW.tenant_id;
END;
CREATE TRIGGER webhook_endpoints_changed AFTER UPDATE ON webhook_endpoints BEGIN
  UPDATE tenants SET revision = revision + 1 WHERE id = NEW.tenant_id;
END;
CREATE TRIGGER webhook_endpoints_removed AFTER DELETE ON webhook_endpoints BEGIN
  UPDATE tenants SET revision = revision + 1 WHERE id = OLD.tenant_id;
END;
