import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';

const ARGS = ['--input-type=module-typescript', '--eval'];
const HEAD = `
  import { createLogDestination } from './src/log-destination.ts';
  import { systemClock } from './src/lib/clock.ts';
  const log = createLogDestination(systemClock);
`;

/** The stdout of a process that writes through the destination. */
function outputOf(script: string): string[] {
  const { stdout, status, stderr } = spawnSync(process.execPath, [...ARGS, HEAD + script], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.split('\n').slice(0, -1);
}

test('every line is written, in order, however many are buffered', () => {
  const lines = outputOf(`for (let i = 0; i < 5_000; i++) log.write('line ' + i + '\\n');`);
  expect(lines).toEqual(Array.from({ length: 5_000 }, (_, i) => `line ${i}`));
});

test('buffered lines are written when the process exits', () => {
  expect(outputOf(`log.write('last\\n'); process.exit(0);`)).toEqual(['last']);
});

test('a flush completes once the lines before it are written', () => {
  const script = `
    import { writeSync } from 'node:fs';
    log.write('before\\n');
    log.flush(() => writeSync(1, 'flushed\\n'));
  `;
  expect(outputOf(script)).toEqual(['before', 'flushed']);
});

test.skipIf(!existsSync('/dev/full'))(
  'a process whose lines cannot be written ends',
  () => {
    const script = `log.write('lost\\n'); log.flush(() => process.exit(3));`;
    const full = openSync('/dev/full', 'w');
    const { status, signal } = spawnSync(process.execPath, [...ARGS, HEAD + script], {
      stdio: ['ignore', full, 'ignore'],
      timeout: 20_000,
      killSignal: 'SIGKILL',
    });
    closeSync(full);
    expect({ status, signal }).toEqual({ status: 3, signal: null });
  },
  30_000,
);

test('a line does not wait for others', async () => {
  const child = spawn(process.execPath, [
    ...ARGS,
    `${HEAD} log.write('alone\\n'); setInterval(() => {}, 1_000);`,
  ]);
  const [chunk] = await once(child.stdout, 'data');
  child.kill('SIGKILL');
  expect(String(chunk)).toBe('alone\n');
});

test('lines that nobody reads do not accumulate, and their number is logged later', async () => {
  const script = `
    import { stderr } from 'node:process';
    const write = (n) => {
      for (let i = 0; i < 10_000; i++) log.write('x'.repeat(99) + '\\n');
      if (n < 40) setImmediate(write, n + 1);
      else stderr.write('written');
    };
    write(1);
    setTimeout(() => {}, 10_000);
  `;
  const child = spawn(process.execPath, [...ARGS, HEAD + script]);
  await once(child.stderr, 'data');
  const [chunks, note] = [[] as Buffer[], Promise.withResolvers<{ dropped: number }>()];
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    const line = /\{.*\}/.exec(chunk.toString())?.[0];
    if (line !== undefined) note.resolve(JSON.parse(line));
  });
  const { dropped } = await note.promise;
  child.kill('SIGKILL');
  const written = Buffer.concat(chunks).toString().match(/x\n/g)?.length ?? 0;
  expect(written + dropped).toBe(400_000);
  expect(written).toBeLessThan(100_000);
});

test('a process whose stdout nobody reads ends all the same', async () => {
  const script = `
    for (let i = 0; i < 50; i++) log.write('x'.repeat(20_000) + '\\n');
    log.flush(() => process.exit(0));
  `;
  const child = spawn(process.execPath, [...ARGS, HEAD + script]);
  await once(child.stderr.resume(), 'end', { signal: AbortSignal.timeout(15_000) }).finally(() =>
    child.kill('SIGKILL'),
  );
});
