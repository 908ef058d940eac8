import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const TEXTS = [
  'Which help desk would you recommend?\n\nOur clinic has eight people on the phones, budget is $300 a month.',
  'We are looking for a new booking system by Friday, the old one keeps crashing. Any suggestions?',
  'Are you looking for a CRM? Our agency can help, book a call.',
  'Halden Cargo raises $12M Series A led by Northern Ventures.',
  'One star. Support never answers and they raised our price twice — avoid 😀.',
  'Wir suchen ein neues Buchungssystem für unseren Betrieb.',
  'Small talk, nothing else.',
];

test('scoring posts in two processes gives identical bytes', { timeout: 60_000 }, () => {
  const input = TEXTS.map((text) => `${JSON.stringify(text)}\n`).join('');
  const run = () => spawnSync(process.execPath, ['scripts/quality/explain.ts'], { input, encoding: 'utf8' });
  const [first, second] = [run(), run()];
  expect(first.stderr).toBe('');
  const lines = first.stdout.trim().split('\n');
  expect(lines).toHaveLength(TEXTS.length);
  expect(lines.some((line) => line.includes('"meaning"'))).toBe(true);
  expect(second.stdout).toBe(first.stdout);
});
