-- The board and the page Today count and sum leads by stage and currency: in this order that needs no sort (2.6 instead of 11.1 ms with 30,000 leads).
CREATE INDEX leads_by_worth ON leads (tenant_id, stage, deal_currency, deal_amount);
DROP INDEX leads_by_stage;
CREATE INDEX leads_by_stage ON leads (tenant_id, stage, created_at, id, classification, score);
