import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import type { LeadCaller } from '../leads/changes.ts';
import { type Lead, leadDetailSchema, SHOWN_SIGNALS } from '../model/lead.ts';
import type { Store } from '../store/store.ts';

/** What the routes of a single lead answer. */
export const leadAnswer = z.strictObject({ data: leadDetailSchema });

/** Who changes a lead: the key, as the history names it. */
export function leadCallerOf(request: FastifyRequest): LeadCaller {
  const { tenant, key } = callerOf(request);
  return { tenantId: tenant.id, actor: { id: key.id, name: key.name } };
}

/** Answers with the lead and its best signals, put together of stored JSON. */
export async function sendLead(reply: FastifyReply, store: Store, lead: Lead): Promise<FastifyReply> {
  const signals = lead.signal_count === 0 ? [] : await store.listSignalsOfLead(lead.id, SHOWN_SIGNALS);
  const text = `{"data":${JSON.stringify(lead).slice(0, -1)},"signals":[${signals.join(',')}]}}`;
  return sendAsIs(reply, JSON_TYPE, text);
}
