import { escapeHtml } from '../lib/text.ts';
import type { MailFacts } from '../model/mail.ts';
import type { Signal } from '../model/signal.ts';

/** One signal of a digest's mail. */
export interface DigestLine {
  signal: Pick<Signal, 'classification' | 'icp_score' | 'excerpt' | 'company' | 'platform' | 'profile_url'>;
  relevantUrl: string;
  notRelevantUrl: string;
}

type DigestFacts = Extract<MailFacts, { kind: 'digest' }>;

const COLORS = { hot: '#b42318', warm: '#b54708', cold: '#475467' } as const;

/** Its subject, which says what was found. */
export function digestSubject({ date, counts }: DigestFacts): string {
  return `Signals of ${date}: ${counts.hot} hot, ${counts.warm} warm`;
}

/** The mail as plain text. */
export function digestText(facts: DigestFacts, lines: readonly DigestLine[]): string {
  const entries = lines.flatMap(({ signal, relevantUrl, notRelevantUrl }) => [
    `${headOf(signal)}`,
    signal.excerpt.replace(/\s+/g, ' '),
    `Open:         ${signal.profile_url}`,
    `Relevant:     ${relevantUrl}`,
    `Not relevant: ${notRelevantUrl}`,
    '',
  ]);
  return [
    `${digestSubject(facts)}.`,
    '',
    ...entries,
    moreOf(facts, lines),
    `All of them: ${facts.url}`,
    '',
    FOOT,
    '',
  ]
    .filter((line, index, all) => line !== '' || all[index - 1] !== '')
    .join('\n');
}

const FOOT =
  'What you say of a signal shows in the quality of its profile. Time and time zone of this mail, and whether it comes: PATCH /v1/settings.';

/**
 * The mail as HTML: one column of at most 600 px, text of 16 px, links as large as a thumb, styles in the elements, as mail
 * programs drop everything else; no picture and nothing that is loaded.
 */
export function digestHtml(facts: DigestFacts, lines: readonly DigestLine[]): string {
  const subject = escapeHtml(digestSubject(facts));
  const more = moreOf(facts, lines);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${subject}</title>
</head>
<body style="margin:0;padding:16px;font:16px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif">
<div style="max-width:600px;margin:0 auto">
<h1 style="font-size:20px;line-height:1.3;margin:0 0 16px">${subject}</h1>
${lines.map(entryHtml).join('\n')}
${more === '' ? '' : `<p style="margin:0 0 16px">${escapeHtml(more)}</p>`}
<p style="margin:0 0 24px"><a href="${escapeHtml(facts.url)}" style="${BUTTON};background:#175cd3;color:#ffffff">See all of them</a></p>
<p style="margin:0;font-size:13px;color:#667085">${escapeHtml(FOOT)}</p>
</div>
</body>
</html>
`;
}

const BUTTON =
  'display:inline-block;padding:11px 16px;margin:0 8px 8px 0;border-radius:6px;text-decoration:none;font-weight:600';
const PLAIN_BUTTON = `${BUTTON};border:1px solid #98a2b3;color:#175cd3`;

function entryHtml({ signal, relevantUrl, notRelevantUrl }: DigestLine): string {
  const head = escapeHtml(headOf(signal));
  return `<div style="border-top:1px solid #d0d5dd;padding:16px 0">
<h2 style="font-size:16px;margin:0 0 8px;color:${COLORS[signal.classification]}"><a href="${escapeHtml(signal.profile_url)}" style="color:inherit">${head}</a></h2>
<p style="margin:0 0 12px;overflow-wrap:anywhere">${escapeHtml(signal.excerpt)}</p>
<a href="${escapeHtml(relevantUrl)}" style="${PLAIN_BUTTON}">Relevant</a>
<a href="${escapeHtml(notRelevantUrl)}" style="${PLAIN_BUTTON}">Not relevant</a>
</div>`;
}

function headOf({ classification, icp_score, company, platform }: DigestLine['signal']): string {
  const word = `${classification.charAt(0).toUpperCase()}${classification.slice(1)}`;
  return `${word} (${icp_score}): ${company.name || company.domain || `a post on ${platform.name}`}`;
}

function moreOf({ counts }: DigestFacts, lines: readonly DigestLine[]): string {
  const more = counts.hot + counts.warm - lines.length;
  return more > 0 ? `And ${more} more.` : '';
}
