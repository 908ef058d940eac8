import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { inPackage } from '../../src/lib/package.ts';
import { defaultProfile } from '../../src/model/icp.ts';
import { createEncoder, type Encoder, openEncoder, whyNoEncoder } from '../../src/signals/encoder/encoder.ts';
import type { ModelName } from '../../src/signals/encoder/load-encoder.ts';
import { addMeaning } from '../../src/signals/meaning.ts';
import { readPost, scorePost } from '../../src/signals/score.ts';
import { temporaryFolder } from '../cli/process.ts';
import { compileOne } from '../support/compile.ts';
import { slownessOfMachine } from '../support/cpu-time.ts';
import { createManualClock } from '../support/manual-clock.ts';

const encoder = createEncoder();
afterAll(() => encoder.close());

const compiled = compileOne(defaultProfile('icp_1', 'ten_1', 0));
const POST = {
  text: 'Thoughts on ticketing?\n\nOur clinic has eight people on the phones. Which help desk would you recommend for us?',
  title: '',
  companyName: '',
  industry: '',
  headcount: '',
  location: '',
};

async function explain(text: string, given: Pick<Encoder, 'encode'> | null) {
  const words = readPost({ ...POST, text }, given !== null);
  const reading = await addMeaning(words, [{ compiled, hits: [] }], { encoder: given });
  return scorePost(reading, compiled, []);
}

test('the same text gives the same vector, whatever is encoded concurrently', async () => {
  expect(whyNoEncoder()).toBeNull();
  const alone = await encoder.encode(['Which help desk would you recommend?']);
  const texts = ['A', 'longer text about nothing in particular', 'Which help desk would you recommend?'];
  const beside = await Promise.all(texts.map((text) => encoder.encode([text])));
  expect(beside[2]).toEqual(alone);
  expect(Math.hypot(...alone.numbers)).toBeCloseTo(1, 5);
});

test('the contributions of the parts add up to the vector of a text', async () => {
  const parts = ['We are a clinic.', 'Which help desk would you recommend?'];
  const { numbers, shares } = await encoder.encode(parts);
  expect((await encoder.encode([parts.join(' ')])).numbers).toEqual(numbers);
  const both = numbers.map((_, i) => (shares[i] ?? 0) + (shares[numbers.length + i] ?? 0));
  // The start and end tokens contribute the rest.
  const likeness = numbers.reduce((sum, number, i) => sum + number * (both[i] ?? 0), 0) / Math.hypot(...both);
  expect(likeness).toBeGreaterThan(0.98);
});

test('a text is read up to 128 tokens, and the rest has no effect', async () => {
  const words = (count: number, last: string) => `${'house '.repeat(count)}${last}`;
  const full = await encoder.encode([words(126, 'invoice')]);
  expect(await encoder.encode([words(126, 'elephant swims')])).toEqual(full);
  expect(await encoder.encode([words(125, 'invoice')])).not.toEqual(full);
  const parts = [words(60, 'Ü-bung.'), words(60, "isn't"), words(60, '???')];
  expect((await encoder.encode(parts)).numbers).toEqual((await encoder.encode([parts.join(' ')])).numbers);
});

test('a text of long unknown words is read up to 1,500 characters, in all parts together', async () => {
  const unknown = `${'qxzj'.repeat(24)}\u{1f600} `.repeat(14);
  const ending = (last: string) => encoder.encode([unknown, unknown, last]);
  expect((await ending('Which help desk?')).numbers).toEqual((await ending('An elephant swims.')).numbers);
  const short = await encoder.encode([unknown, 'Which help desk?']);
  expect(short.numbers).not.toEqual((await encoder.encode([unknown, 'An elephant swims.'])).numbers);
});

test('long words take a text little more time than the model does', async () => {
  const parts = Array.from({ length: 20 }, (_, n) =>
    `${String.fromCharCode(97 + n).repeat(98)}z `.repeat(50),
  );
  await encoder.encode(['warm']);
  const used = process.cpuUsage();
  await encoder.encode(parts);
  const { user, system } = process.cpuUsage(used);
  expect((user + system) / 1_000).toBeLessThan(400 * slownessOfMachine());
});

test('its contribution is one part of the score, with a sentence of the post as evidence', async () => {
  const explanation = await explain(POST.text, encoder);
  const part = [...explanation.factors, ...explanation.negatives].filter(({ key }) => key === 'meaning');
  expect(part).toHaveLength(1);
  const [evidence] = part[0]?.evidence ?? [];
  expect(POST.text.slice(evidence?.start, evidence?.end)).toBe(evidence?.text);
  expect(evidence?.text).toBe('Which help desk would you recommend for us?');
  expect(await explain(POST.text, encoder)).toEqual(explanation);
});

test('a post whose class it cannot change is not encoded', async () => {
  const none = { encode: () => Promise.reject(new Error('asked')) };
  const { score } = await explain(
    'Show HN: a game about trains\n\nI built it for my thesis, and it is free. I am a student. Feedback welcome, sign up.',
    none,
  );
  expect(score).toBeLessThan(40);
});

test('no telemetry is written to the temporary folder', () => {
  using folder = temporaryFolder();
  const script =
    "import('./src/signals/encoder/encoder.ts').then(async ({ createEncoder }) => { const e = createEncoder(); await e.encode(['x']); await e.close(); })";
  const { status } = spawnSync(process.execPath, ['-e', script], {
    env: { PATH: process.env.PATH, TMPDIR: folder.path },
  });
  expect(status).toBe(0);
  expect(readdirSync(folder.path)).toEqual([]);
});

test.each([
  ['a text hangs', 'asked', 'KILL'],
  ['a thread that hung was given up', 'asked; clock.advance(30_000)', 'KILL'],
  ['it is idle', 'await asked', null],
])('closed while %s, the encoder does not keep the process from ending', (_, first, signal) => {
  const script = `
    const { createEncoder } = await import('./src/signals/encoder/encoder.ts');
    const { createManualClock } = await import('./test/support/manual-clock.ts');
    const clock = createManualClock(0);
    const encoder = createEncoder({ clock, threads: 1 });
    const asked = encoder.encode(['x']).catch(() => null);
    ${first};
    const closed = encoder.close();
    clock.advance(${signal === null ? 0 : 2_000});
    await closed;
    process.exit(0);`;
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
  expect([ended.signal, ended.stderr.toString()]).toEqual([signal && `SIG${signal}`, '']);
});

test('a repeated text is encoded once', async () => {
  const own = createEncoder();
  const work = own.begin({ owner: 'ten_a', kind: 'batch' });
  const [first, second] = await Promise.all([work.encode(['one']), work.encode(['one'])]);
  work.end();
  expect(second).toBe(first);
  expect(await own.encode(['one'])).toBe(first);
  expect(own.figures.encodeSeconds.counts.reduce((sum, count) => sum + count)).toBe(1);
  await own.close();
});

test('a single post does not wait for a batch that asked for the same text first', async () => {
  const own = createEncoder({ threads: 1 });
  const batch = own.begin({ owner: 'ten_a', kind: 'batch' });
  let done = 0;
  const all = Array.from({ length: 60 }, async (_, n) => {
    await batch.encode([`text ${n}`]);
    done++;
  });
  await own.encode(['text 59']);
  expect(done).toBeLessThan(10);
  await Promise.all(all);
  batch.end();
  expect(own.figures.encodeSeconds.counts.reduce((sum, count) => sum + count)).toBe(60);
  await own.close();
});

test('work that would wait too long is immediately UNAVAILABLE, with the time to retry', async () => {
  const own = createEncoder();
  own.begin({ owner: 'ten_a', kind: 'batch' }).expect(1_500);
  const late = own.begin({ owner: 'ten_b', kind: 'batch' });
  // Tenants take turns: before the last text of one, as many texts of the other are encoded.
  expect(() => late.expect(1_200)).toThrow(
    expect.objectContaining({
      code: 'UNAVAILABLE',
      extra: expect.objectContaining({ retryAfterSeconds: 2 }),
    }),
  );
  late.expect(900);
  await own.close();
});

test('what is wrong is reported once, and not part of the error that clients get', async () => {
  const faults: string[] = [];
  const own = createEncoder({ threads: 1, onFault: (reason) => faults.push(reason) });
  const unreadable = [{ length: 1 }] as unknown as string[];
  for (let i = 0; i < 2; i++) {
    const error = await own.encode(unreadable).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'UNAVAILABLE',
      message: 'The sentence encoder failed. Nothing was stored; try again shortly.',
      cause: { message: faults[0] },
    });
  }
  expect(faults).toEqual([expect.stringMatching(/./)]);
  await own.close();
});

test('if a model cannot be loaded, its waiting texts fail with it, and hold up nobody', async () => {
  const own = createEncoder({ threads: 1 });
  await own.encode(['ready']);
  const missing = 'toString' as unknown as ModelName;
  const batch = own.begin({ owner: 'ten_a', kind: 'batch' });
  batch.expect(1);
  const texts = Array.from({ length: 400 }, (_, i) => batch.encode([`text ${i}`], missing));
  const good = batch.encode(['good']);
  const settled = Promise.allSettled(texts);
  await expect(Promise.race(texts)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(own.figures.waiting).toBe(0);
  expect((await settled).every(({ status }) => status === 'rejected')).toBe(true);
  batch.end();
  const post = own.begin({ owner: 'ten_b', kind: 'single' });
  post.expect(1);
  post.end();
  expect((await good).numbers).toHaveLength(384);
  await own.close();
});

test('a thread that does not reply is given up: its texts fail, and others get a new one', async () => {
  const clock = createManualClock(0);
  const faults: string[] = [];
  const own = createEncoder({ clock, threads: 1, onFault: (reason) => faults.push(reason) });
  const asked = ['one', 'two', 'three'].map((text) => own.encode([text]));
  const settled = Promise.allSettled(asked);
  clock.advance(29_000);
  expect(faults).toEqual([]);
  clock.advance(1_000);
  expect(faults).toEqual(['its thread has not replied for 30 s']);
  for (const result of await settled)
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } });
  expect((await own.encode(['one'])).numbers).toHaveLength(384);
  clock.advance(60_000);
  expect((await own.encode(['two'])).numbers).toHaveLength(384);
  expect(faults).toHaveLength(1);
  await own.close();
});

test('after two such threads, texts fail at once until one of them replies', async () => {
  const clock = createManualClock(0);
  const own = createEncoder({ clock, threads: 1 });
  for (const text of ['one', 'two']) {
    const asked = expect(own.encode([text])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    clock.advance(30_000);
    await asked;
  }
  await expect(own.encode(['three'])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect
    .poll(
      () =>
        own.encode(['four']).then(
          ({ numbers }) => numbers.length,
          () => 0,
        ),
      { timeout: 10_000 },
    )
    .toBe(384);
  await own.close();
});

test('work waiting at shutdown is UNAVAILABLE', async () => {
  const own = createEncoder();
  const asked = ['one', 'two', 'three', 'four'].map((text) => own.encode([text]));
  const settled = Promise.allSettled(asked);
  await own.close();
  for (const { status } of await settled) expect(status).toBe('rejected');
});

test('if the encoder is turned off or its files are missing, the log says so', async () => {
  const lines: string[] = [];
  const log = {
    info: (text: string) => void lines.push(text),
    warn: (text: string) => void lines.push(text),
  };
  expect(await openEncoder('off', log)).toBeNull();
  expect(whyNoEncoder(['/nowhere/needs.bin'])).toBe('there is no /nowhere/needs.bin');
  expect(lines).toEqual(['SIGNAL_ENCODER=off: signals are scored by words alone']);
});

test.runIf(process.platform === 'linux')(
  'a native library whose end is missing is not loaded, which would end the process',
  () => {
    const { resolve } = createRequire(import.meta.url);
    const library = join(
      dirname(resolve('onnxruntime-node')),
      `../bin/napi-v6/${process.platform}/${process.arch}/onnxruntime_binding.node`,
    );
    const bytes = readFileSync(library);
    using folder = temporaryFolder();
    const cut = join(folder.path, 'cut.node');
    for (const length of [64, bytes.length >> 1, bytes.length - 1]) {
      writeFileSync(cut, bytes.subarray(0, length));
      expect(whyNoEncoder([library, cut])).toBe(`the end of ${cut} is missing: install the package again`);
    }
  },
);

test('with a damaged model, signals are scored by words alone, as without its file', async () => {
  const lines: string[] = [];
  const log = { info: () => undefined, warn: (text: string) => void lines.push(text) };
  const opened = await openEncoder('auto', log, (options) => {
    const whole = createEncoder(options);
    return {
      ...whole,
      encode: (parts, model) =>
        model === 'offers'
          ? Promise.reject(new Error('protobuf parsing failed'))
          : whole.encode(parts, model),
    };
  });
  expect(opened).toBeNull();
  expect(lines).toEqual(['no sentence encoder, signals are scored by words alone: protobuf parsing failed']);
});

test('with a changed byte in any file of the models, signals are scored by words alone', () => {
  using folder = temporaryFolder();
  for (const part of ['src', 'data', 'package.json'])
    cpSync(inPackage(part), join(folder.path, part), { recursive: true });
  symlinkSync(inPackage('node_modules'), join(folder.path, 'node_modules'));
  const models = join(folder.path, 'data/models');
  const names = readdirSync(models, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(onnx|bin|json)$/.test(name),
  );
  const script = `
    import { readFileSync, writeFileSync } from 'node:fs';
    import { openEncoder } from './src/signals/encoder/encoder.ts';
    const opened = await openEncoder('auto', console);
    console.log(opened === null ? 'unusable' : 'usable');
    await opened?.close();
    for (const file of ${JSON.stringify(names.map((name) => join(models, name)))}) {
      const bytes = readFileSync(file);
      const middle = bytes.length >> 1;
      bytes[middle] ^= 1;
      writeFileSync(file, bytes);
      const warn = (text) => console.log(text.startsWith('no sentence encoder, signals are scored by words alone: ' + file + ' is damaged'));
      console.log((await openEncoder('auto', { info() {}, warn })) === null);
      bytes[middle] ^= 1;
      writeFileSync(file, bytes);
    }
  `;
  writeFileSync(join(folder.path, 'damage.mjs'), script);
  const { stdout, stderr } = spawnSync(process.execPath, ['damage.mjs'], {
    cwd: folder.path,
    encoding: 'utf8',
  });
  expect(names).toHaveLength(6);
  expect({ lines: stdout.trim().split('\n'), stderr }).toEqual({
    lines: ['usable', ...Array(12).fill('true')],
    stderr: '',
  });
}, 60_000);

test('closing while texts are being encoded does not abort the process', () => {
  const module = new URL('../../src/signals/encoder/encoder.ts', import.meta.url).href;
  using folder = temporaryFolder();
  const file = join(folder.path, 'closing.mjs');
  const script = `
    import { createEncoder } from ${JSON.stringify(module)};
    for (let round = 0; round < 8; round++) {
      const encoder = createEncoder({ threads: 1 });
      await encoder.encode(['ready']);
      const text = 'Which help desk would you recommend to a shop of twelve? '.repeat(20);
      const all = Array.from({ length: 20 }, (_, i) => encoder.encode([i + text]).catch(() => {}));
      await new Promise((resolve) => setTimeout(resolve, 3 * round));
      await encoder.close();
      await Promise.all(all);
    }
    process.exit(0);
  `;
  writeFileSync(file, script);
  const { status, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
}, 60_000);
