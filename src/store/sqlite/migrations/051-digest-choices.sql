-- The frequency of the digest and its profiles (none: all), and the members who receive it by mail.
ALTER TABLE tenant_settings ADD COLUMN digest_frequency TEXT NOT NULL DEFAULT 'daily';
ALTER TABLE tenant_settings ADD COLUMN digest_profile_ids TEXT NOT NULL DEFAULT '[]';
ALTER TABLE owners ADD COLUMN digest_mail INTEGER NOT NULL DEFAULT 1;
