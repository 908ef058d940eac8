import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { defaultProfile } from '../../src/model/icp.ts';
import { createEncoder, type Encoder, whyNoEncoder } from '../../src/signals/encoder/encoder.ts';
import { openEncoder } from '../../src/signals/encoder/open-encoder.ts';
import { addMeaning } from '../../src/signals/meaning.ts';
import { compileProfile, readPost, scorePost } from '../../src/signals/score.ts';
import { temporaryFolder } from '../cli/process.ts';

const encoder = createEncoder();
afterAll(() => encoder.close());

const compiled = compileProfile(defaultProfile('icp_1', 'ten_1', 0));
const POST = {
  text: 'Thoughts on ticketing?\n\nOur clinic has eight people on the phones. Which help desk would you recommend for us?',
  title: '',
  companyName: '',
  industry: '',
  headcount: '',
  location: '',
};

async function explain(text: string, given: Encoder | null) {
  const words = readPost({ ...POST, text }, given !== null);
  const reading = await addMeaning(words, [{ compiled, hits: [] }], { encoder: given });
  return scorePost(reading, compiled, []);
}

test('the same text gives the same numbers, whatever is asked beside it', async () => {
  expect(whyNoEncoder()).toBeNull();
  const alone = await encoder.encode('Which help desk would you recommend?');
  const texts = ['A', 'longer text about nothing in particular', 'Which help desk would you recommend?'];
  const beside = await Promise.all(texts.map((text) => encoder.encode(text)));
  expect(beside[2]).toEqual(alone);
  expect(Math.hypot(...alone)).toBeCloseTo(1, 5);
});

test('a text is read up to 128 tokens, and the rest changes nothing', async () => {
  const words = (count: number, last: string) => `${'house '.repeat(count)}${last}`;
  const full = await encoder.encode(words(126, 'invoice'));
  expect(await encoder.encode(words(126, 'elephant swims'))).toEqual(full);
  expect(await encoder.encode(words(125, 'invoice'))).not.toEqual(full);
});

test('its share is one part of the score, with a sentence of the post as evidence', async () => {
  const explanation = await explain(POST.text, encoder);
  const part = [...explanation.factors, ...explanation.negatives].filter(({ key }) => key === 'meaning');
  expect(part).toHaveLength(1);
  const [evidence] = part[0]?.evidence ?? [];
  expect(POST.text.slice(evidence?.start, evidence?.end)).toBe(evidence?.text);
  expect(evidence?.text).toBe('Which help desk would you recommend for us?');
  expect(await explain(POST.text, encoder)).toEqual(explanation);
});

test('a post whose class it cannot change is not encoded', async () => {
  const none: Encoder = { encode: () => Promise.reject(new Error('asked')), close: async () => {} };
  const { score } = await explain(
    'Show HN: I built a free game about trains for my thesis. I am a student. Feedback welcome, sign up.',
    none,
  );
  expect(score).toBeLessThan(40);
});

test('it tells nobody: no telemetry is prepared in the temporary folder', () => {
  using folder = temporaryFolder();
  const script =
    "import('./src/signals/encoder/encoder.ts').then(async ({ createEncoder }) => { const e = createEncoder(); await e.encode('x'); await e.close(); })";
  const { status } = spawnSync(process.execPath, ['-e', script], {
    env: { PATH: process.env.PATH, TMPDIR: folder.path },
  });
  expect(status).toBe(0);
  expect(readdirSync(folder.path)).toEqual([]);
});

test('what the queue cannot take is UNAVAILABLE at once; who is patient waits', async () => {
  const small = createEncoder({ maxWaiting: 1 });
  const first = small.encode('one');
  await expect(small.encode('two')).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    extra: { retryAfterSeconds: expect.any(Number) },
  });
  const third = small.encode('three', { patient: true });
  expect((await first).length).toBe(384);
  expect((await third).length).toBe(384);
  await small.close();
});

test('where it is switched off or its files are missing, the log says so', async () => {
  const lines: string[] = [];
  const log = {
    info: (text: string) => void lines.push(text),
    warn: (text: string) => void lines.push(text),
  };
  expect(await openEncoder('off', log)).toBeNull();
  expect(whyNoEncoder('/nowhere')).toContain('/nowhere');
  expect(lines).toEqual(['SIGNAL_ENCODER=off: words alone decide on signals']);
});
