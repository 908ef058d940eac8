-- How often the digest comes and of which profiles (none: all), and which people want its mail.
ALTER TABLE tenant_settings ADD COLUMN digest_frequency TEXT NOT NULL DEFAULT 'daily';
ALTER TABLE tenant_settings ADD COLUMN digest_profile_ids TEXT NOT NULL DEFAULT '[]';
ALTER TABLE owners ADD COLUMN digest_mail INTEGER NOT NULL DEFAULT 1;
