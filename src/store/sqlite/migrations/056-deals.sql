-- What the open deals are worth, without a look at all leads that have none.
CREATE INDEX leads_with_deals ON leads (tenant_id, stage, deal_currency, deal_amount) WHERE deal_currency IS NOT NULL;
