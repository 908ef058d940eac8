import { toIso } from '../lib/clock.ts';
import type { CredentialsChange, MailFacts } from '../model/mail.ts';
import { digestSubject, digestText } from './digest-mail.ts';

/** A mail as its reader sees it. */
export interface MailText {
  subject: string;
  text: string;
  /** The same as HTML, where it has one. */
  html?: string;
}

/** Where the dashboard has the endpoints. */
const WEBHOOKS = '/dashboard/settings/integrations/webhooks';

const REASONS = {
  failures: 'its last 20 attempts failed, one after the other',
  gone: 'it answered 410 Gone, which says that it is not coming back',
} as const;

/**
 * The words for what a mail tells. `baseUrl` is where the product is reached; `token` is of the one-time link in it, left
 * out where the mail is shown to others than whom it is for.
 */
export function mailText(facts: MailFacts, baseUrl: string, token?: string): MailText {
  switch (facts.kind) {
    case 'endpoint_paused':
      return endpointPaused(facts, baseUrl);
    case 'endpoint_failing':
      return endpointFailing(facts, baseUrl);
    case 'endpoints_over_plan':
      return endpointsOverPlan(facts, baseUrl);
    case 'source_failing':
      return sourceFailing(facts, baseUrl);
    case 'source_paused':
      return sourcePaused(facts, baseUrl);
    case 'digest':
      return digestInShort(facts, `${baseUrl}/dashboard/settings/digest`);
    case 'invitation':
      return invitation(facts, linkText(`${baseUrl}/dashboard/setup`, token));
    case 'password_reset':
      return passwordReset(linkText(`${baseUrl}/dashboard/reset`, token));
    case 'credentials_changed':
      return credentialsChanged(facts, baseUrl);
    case 'message':
      return { subject: facts.subject, text: facts.text };
  }
}

/** Without its signals, which are read when it is sent, and without anybody's own link. */
function digestInShort(facts: FactsOf<'digest'>, settingsUrl: string): MailText {
  const foot = { settingsUrl, unsubscribeUrl: settingsUrl };
  return { subject: digestSubject(facts), text: digestText(facts, [], foot) };
}

type FactsOf<K extends MailFacts['kind']> = Extract<MailFacts, { kind: K }>;

function endpointPaused(facts: FactsOf<'endpoint_paused'>, baseUrl: string): MailText {
  const name = facts.label === '' ? facts.host : `"${facts.label}" (${facts.host})`;
  return {
    subject: `Webhook paused: ${facts.label === '' ? facts.host : facts.label}`,
    text: [
      `Signalpost has paused the webhook endpoint ${name}: ${REASONS[facts.reason]}.`,
      '',
      'Nothing is lost. What is due for it is held for up to 7 days, and sent once it is resumed.',
      '',
      `What was sent and what came back: ${baseUrl}${WEBHOOKS}/${facts.endpointId}`,
      `To resume it by API: POST ${baseUrl}/v1/webhooks/${facts.endpointId}/resume`,
      '',
    ].join('\n'),
  };
}

function endpointFailing(facts: FactsOf<'endpoint_failing'>, baseUrl: string): MailText {
  const { label, host, failures, pausesAt, endpointId } = facts;
  const name = label === '' ? host : `"${label}" (${host})`;
  return {
    subject: `Webhook failing: ${label === '' ? host : label}`,
    text: [
      `The last ${failures} attempts to deliver to the webhook endpoint ${name} failed, one after the other.`,
      '',
      `After ${pausesAt} failures in a row it is paused, and what is due for it is held for up to 7 days. Nothing is lost so far.`,
      '',
      `What was sent and what came back: ${baseUrl}${WEBHOOKS}/${endpointId}`,
      `To try it by API: POST ${baseUrl}/v1/webhooks/${endpointId}/test`,
      '',
    ].join('\n'),
  };
}

function endpointsOverPlan(facts: FactsOf<'endpoints_over_plan'>, baseUrl: string): MailText {
  const { plan, limit, endpointIds } = facts;
  const many = endpointIds.length > 1;
  return {
    subject: `${many ? `${endpointIds.length} webhooks` : 'A webhook'} paused: the ${plan} plan has ${limit}`,
    text: [
      `Your account is on the ${plan} plan now, which has ${limit} active webhook endpoint${limit === 1 ? '' : 's'}.`,
      `Paused with what waits for ${many ? 'them' : 'it'}: ${endpointIds.join(', ')}.`,
      '',
      'Nothing is deleted. What is due is held for up to 7 days. A larger plan resumes them by itself; or pause',
      'another endpoint, and resume the one that you want to keep.',
      '',
      `Your endpoints: ${baseUrl}${WEBHOOKS}`,
      '',
    ].join('\n'),
  };
}

function sourceFailing(facts: FactsOf<'source_failing'>, baseUrl: string): MailText {
  return {
    subject: `Source failing: ${facts.name}`,
    text: [
      `Signalpost could not read the source "${facts.name}" since ${toIso(facts.since).slice(0, 16).replace('T', ' ')} UTC.`,
      '',
      facts.message,
      `What to do: ${facts.hint}`,
      '',
      'It is tried again, at least every six hours, and goes on where it was. This is the only mail about it.',
      '',
      `The source and its last runs: ${baseUrl}/dashboard/sources/${facts.sourceId}`,
      '',
    ].join('\n'),
  };
}

function sourcePaused(facts: FactsOf<'source_paused'>, baseUrl: string): MailText {
  return {
    subject: `Source paused: ${facts.name}`,
    text: [
      `Signalpost has paused the source "${facts.name}".`,
      '',
      facts.message,
      '',
      'Once resumed it goes on where it was. If that happens again, tell the operator of the server.',
      '',
      `To look at it and resume it: ${baseUrl}/dashboard/sources/${facts.sourceId}`,
      '',
    ].join('\n'),
  };
}

const MAY = {
  owner: 'do everything',
  member: 'do everything but manage people, plan and API keys',
  reader: 'look at everything',
} as const;

function invitation({ tenant, role }: FactsOf<'invitation'>, link: string): MailText {
  return {
    subject: `You are invited to ${tenant} on Signalpost`,
    text: [
      `You are invited to the account "${tenant}" on Signalpost, where you may ${MAY[role]}.`,
      '',
      'Choose a password with this link. It works once, for 7 days:',
      link,
      '',
      'If you know nothing of it, leave it be: nothing happens without the link.',
      '',
    ].join('\n'),
  };
}

function passwordReset(link: string): MailText {
  return {
    subject: 'A new password for Signalpost',
    text: [
      'Somebody, you most likely, asked for a new password for the account of this address.',
      '',
      'Choose one with this link. It works once, for an hour:',
      link,
      '',
      'If it was not you, leave it be: the old password goes on.',
      '',
    ].join('\n'),
  };
}

const CHANGES: Record<CredentialsChange, { subject: string; what: string }> = {
  password: {
    subject: 'Your password was changed',
    what: 'The password of your Signalpost account was changed. Every other session has ended.',
  },
  password_by_link: {
    subject: 'Your password was changed',
    what: 'The password of your Signalpost account was changed by a link for a new one. Every session before has ended.',
  },
  second_factor_on: {
    subject: 'Your second factor was turned on',
    what: 'Logging in to your Signalpost account asks for a code of an authenticator now. Every other session has ended.',
  },
  second_factor_off: {
    subject: 'Your second factor was turned off',
    what: 'Logging in to your Signalpost account asks for no code of an authenticator any more.',
  },
  recovery_codes: {
    subject: 'You have new recovery codes',
    what: 'New recovery codes were made for your Signalpost account; those before count no more.',
  },
};

function credentialsChanged(facts: FactsOf<'credentials_changed'>, baseUrl: string): MailText {
  const { change, at, browser, network } = facts;
  const where = [browser, network === '' ? '' : `the network ${network}`].filter((part) => part !== '');
  const when = `${toIso(at).slice(0, 16).replace('T', ' ')} UTC`;
  return {
    subject: CHANGES[change].subject,
    text: [
      CHANGES[change].what,
      '',
      `When: ${when}${where.length === 0 ? '' : `, from ${where.join(', ')}`}`,
      '',
      'If it was you, there is nothing to do. If not, choose a new password at once, and tell an owner of the account:',
      `${baseUrl}/dashboard/reset`,
      '',
    ].join('\n'),
  };
}

function linkText(address: string, token: string | undefined): string {
  return token === undefined ? '(The link stands in the mail alone.)' : `${address}#token=${token}`;
}
