import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { EVENT_TYPES, type EventRow, type EventType } from '../../src/model/event.ts';
import { payloadFormatSchema } from '../../src/model/payload-format.ts';
import { PRESETS, type Preset } from '../../src/model/payload-shape.ts';
import type { Signal } from '../../src/model/signal.ts';
import {
  batchNotice,
  eventNotice,
  type Notice,
  type SignalStory,
  signalNotice,
} from '../../src/webhooks/notice.ts';
import { presetMessage } from '../../src/webhooks/payload.ts';
import { EVENT_SAMPLES, SAMPLE_SIGNAL } from '../../src/webhooks/test-delivery.ts';
import { MESSAGE_SCHEMAS } from '../support/message-schemas.ts';

const ajv = new Ajv({ strict: false, allErrors: true });
const checks = Object.fromEntries(
  PRESETS.map((preset) => [preset, ajv.compile(MESSAGE_SCHEMAS[preset])] as const),
);

function bodyOf(preset: Preset, notice: Notice) {
  const format = preset === 'ntfy' ? { preset, topic: 'sales' } : { preset };
  const body = JSON.parse(presetMessage(format, notice));
  const check = checks[preset];
  expect(check?.(body), JSON.stringify(check?.errors)).toBe(true);
  return body;
}

const LONG: Signal = {
  ...SAMPLE_SIGNAL,
  company: { ...SAMPLE_SIGNAL.company, name: '<&>*'.repeat(75) },
  excerpt: '<!channel> @everyone &<>[x](y) _*~`|'.repeat(14),
  platform: { ...SAMPLE_SIGNAL.platform, post_url: `https://example.com/?q=${'a|>)('.repeat(400)}` },
};
const BARE: Signal = {
  ...SAMPLE_SIGNAL,
  prospect: { name: '', title: '', email: '', linkedin_url: '' },
  company: { name: '', domain: '', industry: '', headcount: '', location: '' },
  platform: { name: 'rss', post_url: '', posted_at: '' },
};

const newsOf = (signals: Signal[], hot = signals.length, story: SignalStory | null = null) =>
  batchNotice({
    best: signals.map((signal) => ({ signal, story })),
    counts: { hot, warm: 0, cold: 0 },
    url: 'https://example.com/all',
  });

describe.each(PRESETS)('a message for %s', (preset) => {
  test.each([
    ['a signal', SAMPLE_SIGNAL],
    ['the longest one, all of it markup', LONG],
    ['one of which nothing is known', BARE],
  ])('matches the schema published by the service: %s', (_name, signal) => {
    bodyOf(preset, signalNotice(signal));
  });

  test.each(EVENT_TYPES)('matches that schema for %s', (type) => {
    bodyOf(preset, eventNotice(sampleOf(type)));
  });

  test('names as many signals of a batch as fit, and counts the rest', () => {
    const many = Array.from({ length: 20 }, (_, i) => ({ ...LONG, signal_id: `sig_${i}` }));
    expect(JSON.stringify(bodyOf(preset, newsOf(many, 30)))).toMatch(/and \d+ more/);
    const three = ['Alpha', 'Beta', 'Gamma'].map((name) => ({
      ...SAMPLE_SIGNAL,
      company: { ...SAMPLE_SIGNAL.company, name },
    }));
    const text = JSON.stringify(bodyOf(preset, newsOf(three)));
    for (const name of ['Alpha', 'Beta', 'Gamma']) expect(text).toContain(name);
    expect(text).not.toMatch(/and \d+ more/);
  });

  test('contains the post, its author and its location', () => {
    const text = JSON.stringify(bodyOf(preset, signalNotice(SAMPLE_SIGNAL))).replaceAll('\\\\', '');
    expect(text).toContain('Looking for scheduling software for our 12 vans');
    expect(text).toContain('Dana Example, Operations Manager');
    expect(text).toContain(SAMPLE_SIGNAL.profile_url);
    expect(text).toContain(SAMPLE_SIGNAL.platform.post_url);
  });
});

test('text of a post mentions nobody and creates no links', () => {
  const { blocks, text } = bodyOf('slack', signalNotice(LONG));
  expect(JSON.stringify([blocks, text])).not.toContain('<!');
  expect(bodyOf('discord', signalNotice(LONG)).allowed_mentions).toEqual({ parse: [] });
  expect(bodyOf('discord', signalNotice(LONG)).embeds[0].description).not.toContain('](y)');
});

describe('a preset in a payload format', () => {
  const faults = (input: object) =>
    payloadFormatSchema.safeParse(input).error?.issues.map(({ path }) => path.join('/'));

  test.each([
    [{ preset: 'slack', include: ['signal_id'] }, ['include']],
    [{ preset: 'slack', flatten: true }, ['flatten']],
    [{ preset: 'slack', custom: { a: 1 } }, ['custom']],
    [{ preset: 'slack', topic: 'x' }, ['topic']],
    [{ preset: 'ntfy' }, ['topic']],
    [{ preset: 'ntfy', topic: 'a b' }, ['topic']],
    [{ preset: 'irc' }, ['preset']],
    [{ topic: 'x' }, ['topic']],
  ])('rejects %j', (input, paths) => {
    expect(faults(input)).toEqual(paths);
  });

  test('is returned as it was saved', () => {
    expect(payloadFormatSchema.parse({ preset: 'teams' })).toEqual({ preset: 'teams' });
    const ntfy = { preset: 'ntfy', topic: 'sales' };
    expect(payloadFormatSchema.parse({ ...ntfy, flatten: false, custom: {} })).toEqual(ntfy);
  });
});

function sampleOf(type: EventType): Pick<EventRow, 'type' | 'data'> {
  return { type, data: JSON.stringify(EVENT_SAMPLES[type]) };
}

test('a message to Slack has a headline, a reason, and links for rating, the post and the signal', () => {
  const story = {
    headline: 'Which tool for 12 vans?',
    where: 'r/HVAC on Reddit',
    reason: 'Leaving spreadsheets and asking which tool to buy',
    acts: [
      ['👍 Relevant', 'https://signals.example.com/feedback/a'],
      ['👎 Not relevant', 'https://signals.example.com/feedback/b'],
    ] as const,
  };
  const body = bodyOf('slack', signalNotice(SAMPLE_SIGNAL, story));
  expect(body.text).toMatch(/^Hot signal \(\d+\): Which tool for 12 vans\?$/);
  const text = JSON.stringify(body);
  expect(text).toContain('*Leaving spreadsheets and asking which tool to buy*');
  expect(text).toContain('<https://signals.example.com/feedback/a|👍 Relevant>');
  expect(text).toContain('<https://signals.example.com/feedback/b|👎 Not relevant>');
  expect(text).toContain('|View post>');
  expect(text).toContain('Seen on: r/HVAC on Reddit');
  expect(text).toContain('|Open in Signalpost>');
  for (const preset of PRESETS) bodyOf(preset, signalNotice(SAMPLE_SIGNAL, story));
});

test.each(PRESETS)('each shown signal of a batch for %s has its reason and a link to its post', (preset) => {
  const story = {
    headline: 'Which tool for 12 vans?',
    where: 'r/HVAC on Reddit',
    reason: 'Leaving spreadsheets and asking which tool to buy',
    acts: (['relevant', 'not_relevant', 'add'] as const).map(
      (act) => [act, `https://signals.example.com/feedback/${act}-${'x'.repeat(180)}`] as const,
    ),
  };
  const many = Array.from({ length: 20 }, (_, i) => ({ ...SAMPLE_SIGNAL, signal_id: `sig_${i}` }));
  const body = bodyOf(preset, newsOf(many, 20, story));
  const text = JSON.stringify(body).replaceAll('\\\\', '');
  const shown = text.split('Which tool for 12 vans?').length - 1;
  expect(shown).toBeGreaterThan(8);
  expect(text.split(story.reason)).toHaveLength(shown + 1);
  expect(text.split(SAMPLE_SIGNAL.platform.post_url)).toHaveLength(shown + 1);
  if (shown < 20) expect(text).toContain(`and ${20 - shown} more`);
  if (preset === 'slack') {
    expect(text).toContain('|not_relevant>');
    // Slack's limits: https://github.com/slackapi/bolt-js/issues/2509
    expect(JSON.stringify(body.blocks).length).toBeLessThan(12_000);
  }
});
