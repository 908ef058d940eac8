-- The words that a lead is found by; a range of them is every word that begins alike, which a full-text index would not
-- give in a page's order either. Leads that were there before are found again from their next change on.
CREATE TABLE lead_words (
  tenant_id TEXT NOT NULL REFERENCES tenants (id),
  word      TEXT NOT NULL,
  lead_id   TEXT NOT NULL REFERENCES leads (id),
  PRIMARY KEY (tenant_id, word, lead_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX lead_words_by_lead ON lead_words (lead_id);
