import type { SecretBox } from '../lib/secret-box.ts';
import type { Mail } from '../model/mail.ts';
import type { Explanation, Signal } from '../model/signal.ts';
import { headlineOf, whereOf, whyOf } from '../signals/why.ts';
import type { LeadStore } from '../store/lead-store.ts';
import type { SignalStore } from '../store/signal-store.ts';
import { type DigestLine, digestHtml, digestText, MOST_LINES } from './digest-mail.ts';
import { FEEDBACK_LINK_MS, type FeedbackLinks, type LinkAct } from './feedback-links.ts';
import { linkContext } from './links.ts';
import { type MailText, mailText } from './mail-text.ts';

/** What the words of a mail are made with. */
export interface ComposeParts {
  store: Pick<SignalStore, 'getSignal' | 'getFeedback'> & Pick<LeadStore, 'findLeadSignals'>;
  baseUrl: string;
  feedbackLinks: FeedbackLinks;
  secretBox: SecretBox;
}

/** A mail with the address that ends it, where it has one. */
export type ComposedMail = MailText & { unsubscribeUrl?: string };

/** The whole mail, with what is read for it now: signals whose author was erased meanwhile are left out. */
export async function composeMail(
  parts: ComposeParts,
  { tenantId, facts, createdAt }: Pick<Mail, 'tenantId' | 'facts' | 'createdAt'>,
): Promise<ComposedMail> {
  if (facts.kind === 'invitation' || facts.kind === 'password_reset') {
    const token = parts.secretBox.open(Buffer.from(facts.box, 'base64'), linkContext(facts.userId));
    return mailText(facts, parts.baseUrl, token);
  }
  const short = mailText(facts, parts.baseUrl);
  if (facts.kind !== 'digest') return short;
  const lines: DigestLine[] = [];
  const expiresAt = createdAt + FEEDBACK_LINK_MS;
  for (const signalId of facts.signalIds) {
    if (lines.length === MOST_LINES) break;
    const line = await digestLine(parts, { tenantId, signalId, expiresAt });
    if (line !== null) lines.push(line);
  }
  const { userId } = facts;
  const settingsUrl = `${parts.baseUrl}/dashboard/settings/digest`;
  const unsubscribeUrl =
    userId === undefined ? settingsUrl : parts.feedbackLinks.makeUnsubscribe({ tenantId, userId });
  const foot = { settingsUrl, unsubscribeUrl };
  const mail = { ...short, text: digestText(facts, lines, foot), html: digestHtml(facts, lines, foot) };
  return userId === undefined ? mail : { ...mail, unsubscribeUrl };
}

/** One signal as it is now; null where its author was erased, or somebody has dealt with it since. */
async function digestLine(
  { store, feedbackLinks }: ComposeParts,
  { tenantId, signalId, expiresAt }: { tenantId: string; signalId: string; expiresAt: number },
): Promise<DigestLine | null> {
  const found = await store.getSignal(tenantId, signalId);
  const signal: Signal | null = found === null ? null : JSON.parse(found.wire);
  if (found === null || signal === null || signal.excerpt === '') return null;
  const [judged, [owned]] = await Promise.all([
    store.getFeedback(tenantId, signalId),
    store.findLeadSignals(tenantId, [signalId]),
  ]);
  if (judged !== null || (owned?.leadId ?? null) !== null) return null;
  const { prospect, company, platform, signal_type: type } = signal;
  const explanation: Explanation = JSON.parse(found.explanation);
  const employer = company.name || company.domain;
  const person = [prospect.name, prospect.title].filter((fact) => fact !== '').join(', ');
  const link = (act: LinkAct) => feedbackLinks.make({ tenantId, signalId, act, expiresAt });
  return {
    classification: signal.classification,
    score: signal.icp_score,
    headline: headlineOf(found.text),
    who: person !== '' && employer !== '' ? `${person} at ${employer}` : person || employer,
    where: whereOf(platform),
    reason: whyOf({ text: found.text, type, explanation, company, prospect }).sentence,
    postUrl: platform.post_url,
    url: signal.profile_url,
    links: { relevant: link('relevant'), not_relevant: link('not_relevant'), add: link('add') },
  };
}
