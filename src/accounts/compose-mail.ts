import type { SecretBox } from '../lib/secret-box.ts';
import type { Mail } from '../model/mail.ts';
import type { Signal } from '../model/signal.ts';
import type { SignalStore } from '../store/signal-store.ts';
import { type DigestLine, digestHtml, digestText } from './digest-mail.ts';
import { FEEDBACK_LINK_MS, type FeedbackLinks } from './feedback-links.ts';
import { linkContext } from './links.ts';
import { type MailText, mailText } from './mail-text.ts';

/** What the words of a mail are made with. */
export interface ComposeParts {
  store: Pick<SignalStore, 'getSignal'>;
  baseUrl: string;
  feedbackLinks: FeedbackLinks;
  secretBox: SecretBox;
}

/** The whole mail, with what is read for it now: signals whose author was erased meanwhile are left out. */
export async function composeMail(
  parts: ComposeParts,
  { tenantId, facts, createdAt }: Pick<Mail, 'tenantId' | 'facts' | 'createdAt'>,
): Promise<MailText> {
  if (facts.kind === 'invitation' || facts.kind === 'password_reset') {
    const token = parts.secretBox.open(Buffer.from(facts.box, 'base64'), linkContext(facts.userId));
    return mailText(facts, parts.baseUrl, token);
  }
  const short = mailText(facts, parts.baseUrl);
  if (facts.kind !== 'digest') return short;
  const lines: DigestLine[] = [];
  for (const signalId of facts.signalIds) {
    const found = await parts.store.getSignal(tenantId, signalId);
    const signal: Signal | null = found === null ? null : JSON.parse(found.wire);
    if (signal === null || signal.excerpt === '') continue;
    const link = (relevant: boolean) =>
      parts.feedbackLinks.make({ tenantId, signalId, relevant, expiresAt: createdAt + FEEDBACK_LINK_MS });
    lines.push({ signal, relevantUrl: link(true), notRelevantUrl: link(false) });
  }
  return { ...short, text: digestText(facts, lines), html: digestHtml(facts, lines) };
}
