import type { EventRow } from '../../model/event.ts';
import { EVENT_DATA } from '../../model/event-resource.ts';
import type { Lead } from '../../model/lead.ts';
import type { Deal } from '../../model/pipeline.ts';
import { type Notice, plainNotice } from './notice.ts';
import { digestNotice } from './signal-notice.ts';

/** An event other than that of a signal, in words for people. */
export function eventNotice({ type, data: text }: Pick<EventRow, 'type' | 'data'>): Notice {
  const data: unknown = JSON.parse(text);
  switch (type) {
    case 'lead.created':
      return plainNotice(`New lead ${leadWords(EVENT_DATA[type].parse(data).current)}`);
    case 'lead.enriched': {
      const { previous, current } = EVENT_DATA[type].parse(data);
      return plainNotice(`${previous === null ? 'New lead' : 'Lead updated'}: ${leadWords(current)}`);
    }
    case 'pipeline.stage_changed': {
      const { lead, previous, current, reason, actor } = EVENT_DATA[type].parse(data);
      const why = reason === '' ? '' : `: ${reason}`;
      return plainNotice(`${leadWords(lead)}: ${previous} → ${current}`, `Moved by ${actor.name}${why}`);
    }
    case 'campaign.status_changed': {
      const { campaign_name, previous, current } = EVENT_DATA[type].parse(data);
      return plainNotice(`Campaign ${campaign_name}: ${previous} → ${current}`);
    }
    case 'reply.classified': {
      const { email, reply_class, campaign_name } = EVENT_DATA[type].parse(data);
      const words = reply_class.replaceAll('_', ' ');
      return plainNotice(
        `Reply${email === '' ? '' : ` from ${email}`}: ${words}`,
        `Campaign ${campaign_name}`,
      );
    }
    case 'deal.changed': {
      const { lead, previous, current, actor } = EVENT_DATA[type].parse(data);
      const before = previous === null ? '' : `${dealWords(previous)} → `;
      return plainNotice(
        `Deal with ${leadWords(lead)}: ${before}${dealWords(current)}`,
        `Changed by ${actor.name}`,
      );
    }
    case 'endpoint.failing': {
      const { label, host, consecutive_failures, pauses_at } = EVENT_DATA[type].parse(data);
      const when = `${consecutive_failures} attempts failed in a row. It is paused after ${pauses_at}.`;
      return plainNotice(`Webhook failing: ${label || host}`, when);
    }
    case 'endpoint.paused': {
      const { label, host, reason } = EVENT_DATA[type].parse(data);
      return plainNotice(`Webhook paused: ${label || host}`, `Reason: ${reason}`);
    }
    case 'endpoint.recovered': {
      const { label, host } = EVENT_DATA[type].parse(data);
      return plainNotice(`Webhook recovered: ${label || host}`);
    }
    case 'delivery.dead': {
      const { label, host, event, attempt_count } = EVENT_DATA[type].parse(data);
      return plainNotice(`Not delivered: ${event} to ${label || host}`, `${attempt_count} attempts failed.`);
    }
    case 'digest.ready':
      return digestNotice(EVENT_DATA[type].parse(data));
    case 'signal.new_hot': {
      const { lead_name, platform, signal_text } = EVENT_DATA[type].parse(data);
      return plainNotice(`Hot signal: ${lead_name || `a post on ${platform}`}`, signal_text);
    }
    case 'signal.detected':
      return plainNotice('A signal was detected');
  }
}

function leadWords({ name, email, company }: Lead): string {
  const who = name || email || 'Unnamed lead';
  return company.name === '' ? who : `${who} (${company.name})`;
}

/** In the currency's own number of decimals. */
function dealWords({ amount_minor, currency, status }: Deal): string {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  return `${format.format(amount_minor / 10 ** digits)}, ${status}`;
}
