import { namesOf } from '../leads/lead-names.ts';
import { toIso } from '../lib/clock.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { escapeHtml } from '../lib/text.ts';
import { eachInTurns } from '../lib/yielding.ts';
import type { Lead } from '../model/lead.ts';
import type { CredentialsChange, Mail, MailFacts } from '../model/mail.ts';
import type { Classification, Explanation, Signal } from '../model/signal.ts';
import { headlineOf, whereOf, whyOf } from '../signals/why.ts';
import type { LeadStore } from '../store/lead-store.ts';
import type { SignalStore } from '../store/signal-store.ts';
import { FEEDBACK_LINK_MS, type FeedbackLinks, type LinkAct, linkContext } from './links.ts';

/** One signal in a digest email. */
export interface DigestLine {
  classification: Classification;
  score: number;
  /** The title of the post. */
  headline: string;
  /** The author; empty if unknown. */
  who: string;
  /** Where the post was published: "r/SaaS on Reddit". */
  where: string;
  /** Why it is a signal, in one sentence. */
  reason: string;
  /** The URL of the post; empty if there is none. */
  postUrl: string;
  /** The signal in the dashboard. */
  url: string;
  links: { relevant: string; not_relevant: string; add: string };
}

/** A next step that is due. */
interface DueStep {
  text: string;
  /** The name of its lead. */
  lead: string;
  /** Email address of the owner; empty if unassigned. */
  owner: string;
  /** The due date, and whether it has passed. */
  due: string;
  isLate: boolean;
  /** The lead in the dashboard. */
  url: string;
}

/** The content of a digest email, read when it is sent. */
interface DigestContent {
  steps: readonly DueStep[];
  lines: readonly DigestLine[];
}

type DigestFacts = Extract<MailFacts, { kind: 'digest' }>;

/** The maximum number of signals: more would be too long on a phone; the rest is a count with a link. */
const MOST_LINES = 10;
const MOST_STEPS = 10;

/** The subject line, with the number of signals. */
function digestSubject({ date, counts, frequency = 'daily' }: DigestFacts): string {
  const span = frequency === 'weekly' ? `Week to ${date}` : date;
  if (counts.hot + counts.warm === 0) return `Next steps due · ${span}`;
  return `${counts.hot} hot and ${counts.warm} warm signals · ${span}`;
}

/** The links at the end of a digest email. */
export interface DigestFoot {
  settingsUrl: string;
  unsubscribeUrl: string;
}

/** The email as plain text. */
function digestText(facts: DigestFacts, { steps, lines }: DigestContent, foot: DigestFoot): string {
  const due = steps.flatMap((step) => [step.text, dueOf(step), `Lead: ${step.url}`, '\n']);
  const entries = lines.flatMap((line) => [
    `${classOf(line)}: ${line.headline}`,
    aboutOf(line),
    line.reason,
    line.postUrl === '' ? '' : `Post:            ${line.postUrl}`,
    `Signal:          ${line.url}`,
    `Relevant:        ${line.links.relevant}`,
    `Not relevant:    ${line.links.not_relevant}`,
    `Add to pipeline: ${line.links.add}`,
    '\n',
  ]);
  return [
    digestSubject(facts),
    '\n',
    ...(due.length === 0 ? [] : ['NEXT STEPS', '\n', ...due]),
    ...entries.filter((entry) => entry !== ''),
    moreOf(facts, lines),
    `See all signals: ${facts.url}`,
    '\n',
    `Digest settings: ${foot.settingsUrl}`,
    `Unsubscribe: ${foot.unsubscribeUrl}`,
    '',
  ]
    .map((line) => (line === '\n' ? '' : line))
    .filter((line, index, all) => line !== '' || all[index - 1] !== '')
    .join('\n');
}

/** Each colour has a contrast of at least 4.5 with the background of its theme. */
const LIGHT = { ground: '#ffffff', ink: '#1d2939', soft: '#475467', line: '#d0d5dd', link: '#175cd3' };
const LIGHT_CLASSES = { hot: '#b42318', warm: '#93370d', cold: '#475467' } as const;
const DARK = { ground: '#101828', ink: '#f2f4f7', soft: '#b8c0cc', line: '#475467', link: '#84caff' };
const DARK_CLASSES = { hot: '#fda29b', warm: '#fec84b', cold: '#b8c0cc' } as const;

/** For mail clients that support themes; the others show the light theme, whose styles are inline. */
const DARK_STYLE = `@media (prefers-color-scheme:dark){
.ground{background:${DARK.ground}!important;color:${DARK.ink}!important}
.ink{color:${DARK.ink}!important}.soft{color:${DARK.soft}!important}.line{border-color:${DARK.line}!important}
.link{color:${DARK.link}!important;border-color:${DARK.soft}!important}
.hot{color:${DARK_CLASSES.hot}!important}.warm{color:${DARK_CLASSES.warm}!important}.cold{color:${DARK_CLASSES.cold}!important}
}`;

/**
 * The email as HTML: one column of at most 600 px, text of 16 px, links large enough for a thumb, inline styles,
 * because many mail clients drop all others; no images and no external resources.
 */
function digestHtml(facts: DigestFacts, { steps, lines }: DigestContent, foot: DigestFoot): string {
  const subject = escapeHtml(digestSubject(facts));
  const more = moreOf(facts, lines);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${subject}</title>
<style>${DARK_STYLE}</style>
</head>
<body class="ground" style="margin:0;padding:16px;background:${LIGHT.ground};color:${LIGHT.ink};font:16px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif">
<div style="max-width:600px;margin:0 auto">
<p class="soft" style="margin:0 0 4px;font-size:14px;font-weight:700;color:${LIGHT.soft}">Signalpost</p>
<h1 class="ink" style="font-size:20px;line-height:1.3;margin:0 0 16px;color:${LIGHT.ink}">${subject}</h1>
${steps.length === 0 ? '' : `<h2 class="ink" style="font-size:17px;margin:0 0 4px;color:${LIGHT.ink}">Next steps</h2>\n${steps.map(stepHtml).join('\n')}`}
${lines.map(entryHtml).join('\n')}
${more === '' ? '' : `<p style="margin:16px 0">${escapeHtml(more)}</p>`}
<p style="margin:16px 0 24px"><a href="${escapeHtml(facts.url)}" style="${BUTTON};background:#175cd3;color:#ffffff">${facts.counts.hot + facts.counts.warm === 0 ? 'Open Today' : 'See all signals'}</a></p>
<p class="soft" style="margin:0;font-size:13px;color:${LIGHT.soft}"><a class="link" href="${escapeHtml(foot.settingsUrl)}" style="color:${LIGHT.link}">Digest settings</a> · <a class="link" href="${escapeHtml(foot.unsubscribeUrl)}" style="color:${LIGHT.link}">Unsubscribe</a></p>
</div>
</body>
</html>
`;
}

const BUTTON =
  'display:inline-block;padding:9px 14px;margin:0 6px 8px 0;border-radius:6px;text-decoration:none;font-weight:600;font-size:15px';
const PLAIN_BUTTON = `${BUTTON};border:1px solid #667085;color:${LIGHT.link}`;

function entryHtml(line: DigestLine): string {
  const { classification, headline, reason, postUrl, url, links } = line;
  const button = (href: string, text: string) =>
    `<a class="link" href="${escapeHtml(href)}" style="${PLAIN_BUTTON}">${text}</a>`;
  return `<div class="line" style="border-top:1px solid ${LIGHT.line};padding:16px 0 8px">
<p class="${classification}" style="margin:0;font-size:14px;font-weight:700;color:${LIGHT_CLASSES[classification]}">${classOf(line)}</p>
<h2 style="font-size:17px;line-height:1.35;margin:0 0 4px;overflow-wrap:anywhere"><a class="ink" href="${escapeHtml(postUrl || url)}" style="color:${LIGHT.ink}">${escapeHtml(headline)}</a></h2>
<p class="soft" style="margin:0 0 8px;font-size:14px;color:${LIGHT.soft}">${escapeHtml(aboutOf(line))}</p>
<p style="margin:0 0 12px;overflow-wrap:anywhere">${escapeHtml(reason)}</p>
${button(links.relevant, 'Relevant')}
${button(links.not_relevant, 'Not relevant')}
${button(links.add, 'Add to pipeline')}
${button(url, 'Details')}
</div>`;
}

function stepHtml(step: DueStep): string {
  return `<div class="line" style="border-top:1px solid ${LIGHT.line};padding:12px 0">
<p style="margin:0;font-weight:600;overflow-wrap:anywhere"><a class="ink" href="${escapeHtml(step.url)}" style="color:${LIGHT.ink}">${escapeHtml(step.text)}</a></p>
<p class="${step.isLate ? 'hot' : 'soft'}" style="margin:0;font-size:14px;overflow-wrap:anywhere;color:${step.isLate ? LIGHT_CLASSES.hot : LIGHT.soft}">${escapeHtml(dueOf(step))}</p>
</div>`;
}

function dueOf({ lead, owner, due, isLate }: DueStep): string {
  return [lead, owner, isLate ? `overdue since ${due}` : 'due today']
    .filter((part) => part !== '')
    .join(' · ');
}

function classOf({ classification, score }: DigestLine): string {
  return `${classification.charAt(0).toUpperCase()}${classification.slice(1)} · ${score}`;
}

function aboutOf({ who, where }: DigestLine): string {
  return [who, where].filter((part) => part !== '').join(' · ');
}

function moreOf({ counts }: DigestFacts, lines: readonly DigestLine[]): string {
  const more = counts.hot + counts.warm - lines.length;
  return more > 0 ? `And ${more} more.` : '';
}

/** A rendered email. */
export interface MailText {
  subject: string;
  text: string;
  /** The HTML version, if there is one. */
  html?: string;
}

/** The dashboard's path of the endpoints. */
const WEBHOOKS = '/dashboard/settings/integrations/webhooks';

const REASONS = {
  failures: 'its last 20 delivery attempts failed',
  gone: 'it responded with 410 Gone, which means that it is gone for good',
} as const;

/**
 * The text of an email. `baseUrl` is the address of this server; `token` is that of the one-time link, omitted when
 * the email is shown to anyone but its recipient.
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

/** Without its signals, which are read when it is sent, and without personal links. */
function digestInShort(facts: FactsOf<'digest'>, settingsUrl: string): MailText {
  const foot = { settingsUrl, unsubscribeUrl: settingsUrl };
  return { subject: digestSubject(facts), text: digestText(facts, { steps: [], lines: [] }, foot) };
}

type FactsOf<K extends MailFacts['kind']> = Extract<MailFacts, { kind: K }>;

function endpointPaused(facts: FactsOf<'endpoint_paused'>, baseUrl: string): MailText {
  const name = facts.label === '' ? facts.host : `"${facts.label}" (${facts.host})`;
  return {
    subject: `Webhook paused: ${facts.label === '' ? facts.host : facts.label}`,
    text: [
      `Signalpost has paused the webhook ${name}: ${REASONS[facts.reason]}.`,
      '',
      'Nothing is lost. Its deliveries are held for up to 7 days and are sent when you resume it.',
      '',
      `See what was sent and how it responded: ${baseUrl}${WEBHOOKS}/${facts.endpointId}`,
      `Resume it with the API: POST ${baseUrl}/v1/webhooks/${facts.endpointId}/resume`,
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
      `The last ${failures} attempts to deliver to the webhook ${name} failed.`,
      '',
      `After ${pausesAt} failures in a row it is paused, and its deliveries are held for up to 7 days. Nothing has been lost so far.`,
      '',
      `See what was sent and how it responded: ${baseUrl}${WEBHOOKS}/${endpointId}`,
      `Test it with the API: POST ${baseUrl}/v1/webhooks/${endpointId}/test`,
      '',
    ].join('\n'),
  };
}

function endpointsOverPlan(facts: FactsOf<'endpoints_over_plan'>, baseUrl: string): MailText {
  const { plan, limit, endpointIds } = facts;
  const many = endpointIds.length > 1;
  return {
    subject: `${many ? `${endpointIds.length} webhooks` : 'A webhook'} paused: the ${plan} plan includes ${limit}`,
    text: [
      `Your account is now on the ${plan} plan, which includes ${limit} active webhook${limit === 1 ? '' : 's'}.`,
      `Paused, with ${many ? 'their' : 'its'} deliveries held: ${endpointIds.join(', ')}.`,
      '',
      `Nothing is deleted. Deliveries are held for up to 7 days. A larger plan resumes ${many ? 'them' : 'it'} automatically; or pause`,
      'another webhook and resume the one you want to keep.',
      '',
      `Your webhooks: ${baseUrl}${WEBHOOKS}`,
      '',
    ].join('\n'),
  };
}

function sourceFailing(facts: FactsOf<'source_failing'>, baseUrl: string): MailText {
  return {
    subject: `Source failing: ${facts.name}`,
    text: [
      `Signalpost has not been able to read the source "${facts.name}" since ${toIso(facts.since).slice(0, 16).replace('T', ' ')} UTC.`,
      '',
      facts.message,
      `What to do: ${facts.hint}`,
      '',
      'It is retried at least every six hours and continues where it left off. This is the only email about it.',
      '',
      `View the source and its recent runs: ${baseUrl}/dashboard/sources/${facts.sourceId}`,
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
      'When you resume it, it continues where it left off. If this happens again, contact the operator of this server.',
      '',
      `View and resume it: ${baseUrl}/dashboard/sources/${facts.sourceId}`,
      '',
    ].join('\n'),
  };
}

const MAY = {
  owner: 'do everything',
  member: 'do everything except manage members, the plan and API keys',
  reader: 'view everything',
} as const;

function invitation({ tenant, role }: FactsOf<'invitation'>, link: string): MailText {
  return {
    subject: `You are invited to ${tenant} on Signalpost`,
    text: [
      `You are invited to the account "${tenant}" on Signalpost, where you can ${MAY[role]}.`,
      '',
      'Choose a password with this link. It works once and expires in 7 days:',
      link,
      '',
      'If you did not expect this invitation, you can ignore this email.',
      '',
    ].join('\n'),
  };
}

function passwordReset(link: string): MailText {
  return {
    subject: 'Reset your Signalpost password',
    text: [
      'Someone, most likely you, asked to reset the password of the account with this email address.',
      '',
      'Choose a new password with this link. It works once and expires in an hour:',
      link,
      '',
      'If this was not you, ignore this email; your password stays the same.',
      '',
    ].join('\n'),
  };
}

const CHANGES: Record<CredentialsChange, { subject: string; what: string }> = {
  password: {
    subject: 'Your password was changed',
    what: 'The password of your Signalpost account was changed. You were logged out everywhere else.',
  },
  password_by_link: {
    subject: 'Your password was changed',
    what: 'The password of your Signalpost account was changed with a reset link. All earlier sessions were ended.',
  },
  second_factor_on: {
    subject: 'Two-factor authentication was turned on',
    what: 'Logging in to your Signalpost account now takes a code from an authenticator app. You were logged out everywhere else.',
  },
  second_factor_off: {
    subject: 'Two-factor authentication was turned off',
    what: 'Logging in to your Signalpost account no longer takes a code from an authenticator app.',
  },
  recovery_codes: {
    subject: 'You have new recovery codes',
    what: 'New recovery codes were generated for your Signalpost account. The previous ones no longer work.',
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
      'If this was you, you can ignore this email. If not, choose a new password now and tell an owner of the account:',
      `${baseUrl}/dashboard/reset`,
      '',
    ].join('\n'),
  };
}

function linkText(address: string, token: string | undefined): string {
  return token === undefined ? '(The link is only in the email itself.)' : `${address}#token=${token}`;
}

/** The dependencies for rendering emails. */
export interface ComposeDeps {
  store: Pick<SignalStore, 'getSignal' | 'getFeedback'> &
    Pick<LeadStore, 'findLeadSignals' | 'listDueSteps' | 'listSignalsOfLead'>;
  baseUrl: string;
  feedbackLinks: FeedbackLinks;
  secretBox: SecretBox;
}

/** An email with its unsubscribe URL, if it has one. */
export type ComposedMail = MailText & { unsubscribeUrl?: string };

/** Renders an email with current data: signals whose author has been erased in the meantime are omitted. */
export async function composeMail(
  deps: ComposeDeps,
  { tenantId, facts, createdAt }: Pick<Mail, 'tenantId' | 'facts' | 'createdAt'>,
): Promise<ComposedMail> {
  if (facts.kind === 'invitation' || facts.kind === 'password_reset') {
    const token = deps.secretBox.open(Buffer.from(facts.box, 'base64'), linkContext(facts.userId));
    return mailText(facts, deps.baseUrl, token);
  }
  const short = mailText(facts, deps.baseUrl);
  if (facts.kind !== 'digest') return short;
  const lines: DigestLine[] = [];
  const expiresAt = createdAt + FEEDBACK_LINK_MS;
  await eachInTurns(facts.signalIds, async (signalId) => {
    const line =
      lines.length === MOST_LINES ? null : await digestLine(deps, { tenantId, signalId, expiresAt });
    if (line !== null) lines.push(line);
  });
  const { userId } = facts;
  const settingsUrl = `${deps.baseUrl}/dashboard/settings/digest`;
  const unsubscribeUrl =
    userId === undefined ? settingsUrl : deps.feedbackLinks.makeUnsubscribe({ tenantId, userId });
  const foot = { settingsUrl, unsubscribeUrl };
  const content = { steps: await dueSteps(deps, tenantId, facts.date), lines };
  const mail = { ...short, text: digestText(facts, content, foot), html: digestHtml(facts, content, foot) };
  return userId === undefined ? mail : { ...mail, unsubscribeUrl };
}

/** Due next steps of open leads, as of now, longest overdue first. */
async function dueSteps(
  { store, baseUrl }: ComposeDeps,
  tenantId: string,
  today: string,
): Promise<DueStep[]> {
  const due = await store.listDueSteps(tenantId, { until: today, limit: MOST_STEPS });
  const leads = due.map((wire) => JSON.parse(wire) as Lead);
  const nameOf = await namesOf(store, leads);
  return leads.flatMap((lead) => {
    const { id, owner, next_step: step } = lead;
    if (step === null || step.due_date === null) return [];
    const url = `${baseUrl}/dashboard/leads/${id}#follow`;
    const { text, due_date } = step;
    return [{ text, lead: nameOf(lead), owner, due: due_date, isLate: due_date < today, url }];
  });
}

/** One signal as of now; null if its author was erased or it has been triaged. */
async function digestLine(
  { store, feedbackLinks }: ComposeDeps,
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
