import type { Campaign } from '../../src/model/campaign.ts';
import type { NewCampaignEvent } from '../../src/store/campaign-store.ts';
import { T0 } from './store.ts';

/** An active campaign with default settings. */
export function aCampaign(tenantId: string, overrides: Partial<Campaign> = {}): Campaign {
  return {
    id: 'cam_1',
    tenantId,
    name: 'Spring',
    status: 'active',
    settings: { description: '', channel: 'email', steps: [], starts_at: null, ends_at: null },
    startedAt: T0,
    completedAt: null,
    statusChangedAt: T0,
    createdAt: T0,
    updatedAt: T0,
    version: 1,
    ...overrides,
  };
}

/** A `sent` event for ann@acme.com that causes no events; `key` identifies it. */
export function aCampaignEvent(key: string, overrides: Partial<NewCampaignEvent> = {}): NewCampaignEvent {
  return {
    key,
    type: 'sent',
    occurredAt: T0,
    leadId: null,
    email: 'ann@acme.com',
    step: null,
    replyClass: null,
    auto: false,
    events: [],
    ...overrides,
  };
}
