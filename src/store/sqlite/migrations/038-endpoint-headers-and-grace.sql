-- The secret before, and until when it counts beside the new one.
ALTER TABLE webhook_endpoints ADD COLUMN previous_secret_box BLOB;
ALTER TABLE webhook_endpoints ADD COLUMN previous_secret_until INTEGER;
-- Headers of an endpoint's own: what is shown of them, as JSON, and their box.
ALTER TABLE webhook_endpoints ADD COLUMN headers TEXT NOT NULL DEFAULT '{}';
ALTER TABLE webhook_endpoints ADD COLUMN headers_box BLOB;
