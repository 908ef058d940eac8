import { expect, test } from 'vitest';
import { EVENT_TYPES } from '../../src/model/event.ts';
import { SIGNAL_TYPES } from '../../src/model/signal.ts';
import { buildTestApp } from '../support/app.ts';
import { signedIn } from './browser-session.ts';
import { fillAccount } from './full-account.ts';

/** How screens once spoke, and read as if they had been translated. */
const TRANSLATED =
  /means what buyers mean|written as requests are|says little of what|tells of (?:an event|a business)|speaks of money|whom we|whom to|as you would say it|taken for your own|ask nothing|what counts how much|say of each|nobody is told|needs a person|was it worth it|the last word counts|what it hears of|least score|none ticked|mend the|who was told|stood already|has ended again|escape leaves|no value|made \d+ signals|since just now|fit together|does not fit|leave it be|do well|whoever/i;

/** What a person reads of a page: no code, and nothing of what a program sent or gets. */
function readableText(html: string): string {
  return html
    .replace(/<(script|style|code|pre|option|noscript)\b[\s\S]*?<\/\1>/g, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
}

test('screens speak plain English, and name events, types and settings by their labels', async () => {
  const made = await buildTestApp();
  const browser = await signedIn(made, made.tenant.id);
  const { screens } = await fillAccount(made, 'https://hooks.example.com/a');
  const raw = new RegExp(
    `\\b(?:${[...EVENT_TYPES, ...SIGNAL_TYPES.filter((name) => name.includes('_'))].join('|').replaceAll('.', '\\.')})\\b`,
  );
  for (const path of screens) {
    const { body } = await browser.get(path);
    const text = readableText(body);
    expect.soft(TRANSLATED.exec(text)?.[0], path).toBeUndefined();
    expect.soft(raw.exec(text)?.[0], path).toBeUndefined();
    expect.soft(/\d %/.exec(text)?.[0], path).toBeUndefined();
    for (const [, label = ''] of body.matchAll(/<label for="[^"]*">([^<]+)</g)) {
      expect.soft(label, path).toMatch(/^[A-Z]/);
      expect.soft(label, path).not.toContain('_');
    }
  }
  await made.app.close();
});
