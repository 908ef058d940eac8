import { excerpt } from '../lib/text.ts';
import type { ScoredSignal } from './demo-api.ts';

const MARKS: Record<string, string> = { hot: 'HOT ', warm: 'warm', cold: 'cold' };

/** A scored signal in one line: score, class, platform, excerpt, and the factor that decided most. */
export function signalLine({ icp_score, classification, platform, ...signal }: ScoredSignal): string {
  const { factors, negatives } = signal.explanation;
  const [top] = [...negatives, ...factors].sort((a, b) => Math.abs(b.points) - Math.abs(a.points));
  const reason = top
    ? `${top.label} ${top.points > 0 ? '+' : ''}${top.points}`
    : 'Nothing speaks for a purchase';
  const head = `${String(icp_score).padStart(3)}  ${MARKS[classification] ?? classification}`;
  const text = excerpt(signal.excerpt.replace(/\s+/g, ' '), 60);
  return `${head}  ${platform.name.padEnd(11)} ${text.padEnd(60)}  ${reason}`;
}

/** A command that posts one more signal; its text needs no quoting in a shell. */
export function curlCommand(url: string, apiKey: string): string {
  const post = {
    platform: { name: 'reddit' },
    text: 'Looking for a new booking tool for our plumbing firm, budget approved, need it by Friday. Any recommendations?',
  };
  return [
    `curl -sS -X POST ${url}/v1/signals \\`,
    `  -H 'Authorization: Bearer ${apiKey}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(post)}'`,
  ].join('\n');
}
