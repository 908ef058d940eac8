-- The value of the open deals, without reading leads that have no deal.
CREATE INDEX leads_with_deals ON leads (tenant_id, stage, deal_currency, deal_amount) WHERE deal_currency IS NOT NULL;
