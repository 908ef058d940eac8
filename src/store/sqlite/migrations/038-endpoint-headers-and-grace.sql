-- The previous secret, and the time until which it is valid along with the new one.
ALTER TABLE webhook_endpoints ADD COLUMN previous_secret_box BLOB;
ALTER TABLE webhook_endpoints ADD COLUMN previous_secret_until INTEGER;
-- An endpoint's custom headers: the displayed part as JSON, and the encrypted values.
ALTER TABLE webhook_endpoints ADD COLUMN headers TEXT NOT NULL DEFAULT '{}';
ALTER TABLE webhook_endpoints ADD COLUMN headers_box BLOB;
