-- The number of rows of each kind that a tenant has: plans limit them, and counting a million takes a second.
CREATE TABLE stored_rows (
  tenant_id       TEXT    NOT NULL PRIMARY KEY REFERENCES tenants (id),
  signals         INTEGER NOT NULL DEFAULT 0,
  leads           INTEGER NOT NULL DEFAULT 0,
  campaign_events INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO stored_rows
  SELECT t.id,
    (SELECT count(*) FROM signals s WHERE s.tenant_id = t.id),
    (SELECT count(*) FROM leads l WHERE l.tenant_id = t.id),
    (SELECT count(*) FROM campaign_events e JOIN campaigns c ON c.id = e.campaign_id WHERE c.tenant_id = t.id)
  FROM tenants t;

CREATE TRIGGER tenants_counted AFTER INSERT ON tenants BEGIN
  INSERT INTO stored_rows (tenant_id) VALUES (NEW.id);
END;
CREATE TRIGGER signals_added AFTER INSERT ON signals BEGIN
  UPDATE stored_rows SET signals = signals + 1 WHERE tenant_id = NEW.tenant_id;
END;
CREATE TRIGGER signals_removed AFTER DELETE ON signals BEGIN
  UPDATE stored_rows SET signals = signals - 1 WHERE tenant_id = OLD.tenant_id;
END;
CREATE TRIGGER leads_added AFTER INSERT ON leads BEGIN
  UPDATE stored_rows SET leads = leads + 1 WHERE tenant_id = NEW.tenant_id;
END;
CREATE TRIGGER leads_removed AFTER DELETE ON leads BEGIN
  UPDATE stored_rows SET leads = leads - 1 WHERE tenant_id = OLD.tenant_id;
END;
CREATE TRIGGER campaign_events_added AFTER INSERT ON campaign_events BEGIN
  UPDATE stored_rows SET campaign_events = campaign_events + 1
  WHERE tenant_id = (SELECT tenant_id FROM campaigns WHERE id = NEW.campaign_id);
END;
CREATE TRIGGER campaign_events_removed AFTER DELETE ON campaign_events BEGIN
  UPDATE stored_rows SET campaign_events = campaign_events - 1
  WHERE tenant_id = (SELECT tenant_id FROM campaigns WHERE id = OLD.campaign_id);
END;
