import { toIso } from '../../src/lib/clock.ts';
import type { Lead } from '../../src/model/lead.ts';
import type { Stage } from '../../src/model/pipeline.ts';
import type { LeadChange } from '../../src/store/lead-store.ts';
import { T0 } from './store.ts';

/** A lead of which only the address is known. */
export function aLead(id: string, overrides: Partial<Lead> = {}): Lead {
  const at = toIso(T0);
  return {
    id,
    name: '',
    first_name: '',
    last_name: '',
    email: `${id}@acme.com`,
    linkedin_url: '',
    title: '',
    seniority: '',
    department: '',
    company: { name: '', domain: '', industry: '', headcount: '', location: '' },
    source: 'test',
    stage: 'new',
    stage_changed_at: at,
    icp_score: null,
    classification: null,
    signal_count: 0,
    last_signal_at: null,
    tags: [],
    custom_fields: {},
    deal: null,
    owner: '',
    notes: '',
    next_step: null,
    provenance: {},
    enriched_at: null,
    created_at: at,
    updated_at: at,
    ...overrides,
  };
}

/** The change that creates `lead`, with its address as identity and its first stage change. */
export function aNewLead(tenantId: string, lead: Lead, overrides: Partial<LeadChange> = {}): LeadChange {
  const keys = [`email:${lead.email}`];
  return {
    tenantId,
    lead,
    expectedVersion: 0,
    seen: keys.map((key) => ({ key, leadId: null })),
    keys,
    newSignals: [],
    attach: [],
    move: aMove(null, lead.stage),
    events: [],
    ...overrides,
  };
}

/** A change of a stored lead that concerns only the lead itself. */
export function aLeadUpdate(tenantId: string, lead: Lead, overrides: Partial<LeadChange> = {}): LeadChange {
  return {
    ...aNewLead(tenantId, lead),
    expectedVersion: 1,
    seen: [],
    keys: null,
    move: null,
    ...overrides,
  };
}

/** A move by a key called "test". */
export function aMove(previous: Stage | null, current: Stage) {
  return {
    previous,
    current,
    reason: '',
    actor: { id: 'key_1', name: 'test' },
    movedAt: T0,
    stayedMs: previous === null ? null : 1_000,
  };
}
