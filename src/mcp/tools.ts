import type { Tool } from './tool.ts';
import { getCompany, getDigest, listCampaigns, listProfiles, listSources } from './tools/account.ts';
import { listDeliveries, resendDelivery } from './tools/deliveries.ts';
import { getLead, getPipeline, listLeads, updateLead } from './tools/leads.ts';
import { getSignal, rateSignal, searchSignals } from './tools/signals.ts';

/** Every tool, in the order in which they are always listed: a list that stays the same is cached with the prompt. */
export const TOOLS: readonly Tool[] = [
  searchSignals,
  getSignal,
  listLeads,
  getLead,
  getCompany,
  listProfiles,
  listCampaigns,
  listSources,
  getPipeline,
  getDigest,
  listDeliveries,
  rateSignal,
  updateLead,
  resendDelivery,
];
