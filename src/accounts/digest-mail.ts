import { escapeHtml } from '../lib/text.ts';
import type { MailFacts } from '../model/mail.ts';
import type { Classification } from '../model/signal.ts';

/** One signal of a digest's mail. */
export interface DigestLine {
  classification: Classification;
  score: number;
  /** What the post is called. */
  headline: string;
  /** Who wrote it; empty where nothing is known. */
  who: string;
  /** Where it stands: "r/SaaS on Reddit". */
  where: string;
  /** Why it is a signal, in a sentence. */
  reason: string;
  /** The post itself; empty where it has no address. */
  postUrl: string;
  /** The signal in the dashboard. */
  url: string;
  links: { relevant: string; not_relevant: string; add: string };
}

type DigestFacts = Extract<MailFacts, { kind: 'digest' }>;

/** More are read by nobody on a phone; the rest is a number with a link. */
export const MOST_LINES = 10;

/** Its subject, which says what was found. */
export function digestSubject({ date, counts, frequency = 'daily' }: DigestFacts): string {
  const span = frequency === 'weekly' ? `Week to ${date}` : date;
  return `${counts.hot} hot and ${counts.warm} warm signals · ${span}`;
}

/** What a mail says at its end; `settingsUrl` is where all of it is chosen. */
export interface DigestFoot {
  settingsUrl: string;
  unsubscribeUrl: string;
}

/** The mail as plain text. */
export function digestText(facts: DigestFacts, lines: readonly DigestLine[], foot: DigestFoot): string {
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
    ...entries.filter((entry) => entry !== ''),
    moreOf(facts, lines),
    `See all: ${facts.url}`,
    '\n',
    `Change when it comes: ${foot.settingsUrl}`,
    `Unsubscribe: ${foot.unsubscribeUrl}`,
    '',
  ]
    .map((line) => (line === '\n' ? '' : line))
    .filter((line, index, all) => line !== '' || all[index - 1] !== '')
    .join('\n');
}

/** Each colour has a contrast of at least 4.5 on the ground of its theme. */
const LIGHT = { ground: '#ffffff', ink: '#1d2939', soft: '#475467', line: '#d0d5dd', link: '#175cd3' };
const LIGHT_CLASSES = { hot: '#b42318', warm: '#93370d', cold: '#475467' } as const;
const DARK = { ground: '#101828', ink: '#f2f4f7', soft: '#b8c0cc', line: '#475467', link: '#84caff' };
const DARK_CLASSES = { hot: '#fda29b', warm: '#fec84b', cold: '#b8c0cc' } as const;

/** For mail programs that know themes; all others show the light one, which stands in the elements. */
const DARK_STYLE = `@media (prefers-color-scheme:dark){
.ground{background:${DARK.ground}!important;color:${DARK.ink}!important}
.ink{color:${DARK.ink}!important}.soft{color:${DARK.soft}!important}.line{border-color:${DARK.line}!important}
.link{color:${DARK.link}!important;border-color:${DARK.soft}!important}
.hot{color:${DARK_CLASSES.hot}!important}.warm{color:${DARK_CLASSES.warm}!important}.cold{color:${DARK_CLASSES.cold}!important}
}`;

/**
 * The mail as HTML: one column of at most 600 px, text of 16 px, links as large as a thumb, styles in the elements, as many mail
 * programs drop everything else; no picture and nothing that is loaded.
 */
export function digestHtml(facts: DigestFacts, lines: readonly DigestLine[], foot: DigestFoot): string {
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
${lines.map(entryHtml).join('\n')}
${more === '' ? '' : `<p style="margin:16px 0">${escapeHtml(more)}</p>`}
<p style="margin:16px 0 24px"><a href="${escapeHtml(facts.url)}" style="${BUTTON};background:#175cd3;color:#ffffff">See all signals</a></p>
<p class="soft" style="margin:0;font-size:13px;color:${LIGHT.soft}"><a class="link" href="${escapeHtml(foot.settingsUrl)}" style="color:${LIGHT.link}">Change when it comes</a> · <a class="link" href="${escapeHtml(foot.unsubscribeUrl)}" style="color:${LIGHT.link}">Unsubscribe</a></p>
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
