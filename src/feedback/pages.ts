import { createHash } from 'node:crypto';
import { escapeHtml } from '../lib/html.ts';

const STYLE = `:root{color-scheme:light dark}
body{margin:0;padding:24px 16px;font:1rem/1.5 system-ui,sans-serif}
main{max-width:36rem;margin:0 auto}
blockquote{margin:0 0 1rem;padding:0 0 0 1rem;border-left:4px solid #98a2b3;overflow-wrap:anywhere}
button{font:inherit;font-weight:600;min-height:44px;padding:.6rem 1.2rem;border-radius:6px;border:1px solid #175cd3;background:#175cd3;color:#fff;cursor:pointer}
button.other{background:transparent;color:inherit;border-color:currentColor}
`;

/** What these pages may do: nothing but show and send their form. */
export const CONTENT_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** A signal, and what the link that was followed says of it. */
export interface AskedSignal {
  excerpt: string;
  relevant: boolean;
  /** The token that says the opposite. */
  otherPath: string;
}

const WORDS = { yes: 'Relevant', no: 'Not relevant' };

/** Asks whether it is meant: to follow a link changes nothing, as programs that look through mail follow links too. */
export function askingPage({ excerpt, relevant, otherPath }: AskedSignal): string {
  const [meant, other] = relevant ? [WORDS.yes, WORDS.no] : [WORDS.no, WORDS.yes];
  return page('Was this signal relevant?', [
    quote(excerpt),
    `<form method="post"><button>${meant}</button></form>`,
    `<p>Or: <a href="${escapeHtml(otherPath)}">${other.toLowerCase()}</a></p>`,
  ]);
}

/** Says that it was taken down, and how to take it back. */
export function thanksPage({ excerpt, relevant, otherPath }: AskedSignal): string {
  const [said, other] = relevant ? [WORDS.yes, WORDS.no] : [WORDS.no, WORDS.yes];
  return page('Thank you', [
    `<p role="status">Noted: ${said.toLowerCase()}.</p>`,
    quote(excerpt),
    `<form method="post" action="${escapeHtml(otherPath)}"><button class="other">${other} after all</button></form>`,
  ]);
}

/** Says what is wrong with a link, and the way out. */
export function faultPage(title: string, text: string): string {
  return page(title, [`<p>${escapeHtml(text)}</p>`]);
}

function quote(excerpt: string): string {
  return `<blockquote>${escapeHtml(excerpt)}</blockquote>`;
}

function page(title: string, parts: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${parts.join('\n')}
</main>
</body>
</html>
`;
}
