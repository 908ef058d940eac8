import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { run } from '../../cli/process.ts';
import type { HostileCase } from './case.ts';
import { outcomeOf } from './case.ts';
import type { HostAnswer } from './host.ts';
import { JSON_SHAPES, SHAPES } from './texts.ts';
import type { World } from './world.ts';

/** Responses of receivers and of a provider, and the input of the command line. */
export function otherCases(): HostileCase[] {
  return [
    ...receiverCases(),
    ...manyReceiversCases(),
    ...providerCases(),
    ...importCases(),
    ...feedbackCases(),
    ...batchCases(),
  ];
}

/** A test delivery, then the screen and the resource that show its response. */
function receiverCases(): HostileCase[] {
  const replies: Record<string, () => HostAnswer> = {
    'very many headers': () => ({
      headers: Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`a${n}`, 'b'])),
      body: '',
    }),
    'one header very many times': () => ({
      headers: { 'set-cookie': Array.from({ length: 900 }, () => 'a=b') },
      body: '',
    }),
    'a pause of many digits': () => ({
      status: 429,
      headers: { 'retry-after': '9'.repeat(10_000) },
      body: '',
    }),
    'a redirect': () => ({ status: 302, headers: { location: `/${'a/'.repeat(5_000)}` }, body: '' }),
    'a body of 50 MB': () => ({ body: Buffer.alloc(50_000_000, 'a') }),
  };
  for (const shape of SHAPES)
    replies[`a body of ${shape.name}`] = () => ({ status: 400, body: shape.of(60_000) });
  for (const shape of SHAPES)
    replies[`a pause of ${shape.name}`] = () => ({
      status: 503,
      headers: { 'retry-after': shape.of(4_000).replaceAll(/[^ -~]/g, 'a') },
      body: '',
    });
  for (const { name, of } of JSON_SHAPES) replies[`JSON of ${name}`] = () => of(60_000);
  return Object.entries(replies).map(([name, reply]) => ({
    name: `receiver: ${name}`,
    size: 60_000,
    async run(world) {
      const { host, call, screen } = world;
      const answer = reply();
      host.answer = () => answer;
      const made = await call('POST', '/v1/webhooks', { url: `${host.origin}/hook` });
      const { id } = JSON.parse(made.body).data;
      const tested = await call('POST', `/v1/webhooks/${id}/test`);
      const log = await screen(`/dashboard/webhook-logs?webhook=${id}`);
      const list = await call('GET', `/v1/webhooks/${id}/deliveries?limit=100`);
      await call('DELETE', `/v1/webhooks/${id}`);
      return (
        [tested, log, list].map(outcomeOf).find((outcome) => outcome.startsWith('broken')) ??
        String(tested.status)
      );
    },
  }));
}

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const FLOOD_BYTES = 250_000;
const MANY_RECEIVERS = 40;
const FLOODED_MS = 4_000;

/** Many receivers respond to many deliveries at once, each with the most costly bytes for the parser. */
function manyReceiversCases(): HostileCase[] {
  const floods: Record<string, [start: string, more: string]> = {
    trailers: [`${CHUNKED}0\r\n`, 'a:b\r\n'],
    headers: ['HTTP/1.1 200 OK\r\n', 'a:b\r\n'],
    'interim replies': ['', 'HTTP/1.1 100 Continue\r\n\r\n'],
    'interim replies with headers': ['', `HTTP/1.1 103 Hints\r\n${'l:a\r\n'.repeat(50)}\r\n`],
    'chunks of a byte': [CHUNKED, '1\r\na\r\n'],
    'extensions of chunks': [`${CHUNKED}1`, ';a=b'],
  };
  return Object.entries(floods).map(([what, [start, more]]) => ({
    name: `receivers: many at once, replies of nothing but ${what}`,
    size: FLOOD_BYTES,
    async run({ host, call }) {
      const raw = Buffer.concat([Buffer.from(start), Buffer.alloc(FLOOD_BYTES, more)]);
      host.answer = (path) => (path.startsWith('/many') ? { raw } : null);
      const ids: string[] = [];
      for (let n = 0; n < MANY_RECEIVERS; n++) {
        const endpoint = { url: `${host.origin}/many/${n}`, classifications: ['hot', 'warm', 'cold'] };
        ids.push(JSON.parse((await call('POST', '/v1/webhooks', endpoint)).body).data.id);
      }
      const signals = Array.from({ length: 20 }, (_, n) => ({
        platform: { name: 'forum', post_url: `https://a.example/many/${++leads}` },
        text: `Looking for a CRM ${n}, budget approved. Any recommendations?`,
      }));
      const posted = await call('POST', '/v1/signals/batch', { signals });
      await pause(FLOODED_MS);
      for (const id of ids) await call('DELETE', `/v1/webhooks/${id}`);
      return outcomeOf(posted);
    },
  }));
}

let leads = 0;

function providerCases(): HostileCase[] {
  const fields = ['name', 'email', 'linkedin_url', 'title'];
  const ofTexts = SHAPES.map((shape) => ({
    what: `texts of ${shape.name}`,
    body: () => {
      const text = shape.of(15_000);
      const person = Object.fromEntries(fields.map((field) => [field, text]));
      return JSON.stringify({
        person,
        company: { name: text, domain: text, industry: text, headcount: text },
      });
    },
  }));
  const ofForms = JSON_SHAPES.flatMap(({ name, of }) => [
    { what: name, body: () => of(250_000) },
    { what: `a person of ${name}`, body: () => `{"person":${of(250_000)}}` },
    { what: `a name of ${name}`, body: () => `{"person":{"name":${of(250_000)}}}` },
  ]);
  return [...ofTexts, ...ofForms].map(({ what, body }) => ({
    name: `provider: ${what}`,
    size: 250_000,
    async run({ host, call }) {
      const answer = body();
      host.answer = (path) => (path === '/enrich' ? answer : null);
      return outcomeOf(await call('POST', '/v1/leads', { email: `a${++leads}@example${leads}.com` }));
    },
  }));
}

/** Files for `import`: it may reject them, but must not crash or print terminal control sequences. */
function importCases(): HostileCase[] {
  const files: Record<string, [name: string, text: () => string]> = {
    'escapes of a terminal': ['a.jsonl', () => '\x1b]0;pwned\x07 not json\n{"text":"\x1b[2J"}\n'],
    'a column of a prototype': ['a.csv', () => 'text,__proto__,constructor\na,b,c\n'],
    'a long line': ['a.jsonl', () => `{"text":"${'a'.repeat(30_000_000)}"}`],
    'a long line of CSV': ['a.csv', () => `text\n"${'a'.repeat(30_000_000)}`],
    'very many columns': [
      'a.csv',
      () => `${Array.from({ length: 200_000 }, (_, n) => `a${n}`).join(',')}\n${',b'.repeat(200_000)}\n`,
    ],
    'very many quotes': ['a.csv', () => `text\n${'"'.repeat(5_000_000)}\n`],
    'a deep line': ['a.jsonl', () => '['.repeat(3_000_000)],
    'very many members': [
      'a.jsonl',
      () => JSON_SHAPES.find(({ name }) => name.includes('members'))?.of(3_000_000) ?? '',
    ],
    'texts of marks': [
      'a.jsonl',
      () =>
        `${JSON.stringify({ platform: { name: 'a' }, text: `a${'\u0300'.repeat(10_000)}${'\u0334'.repeat(9_000)}` })}\n`.repeat(
          5,
        ),
    ],
  };
  return Object.entries(files).map(([what, [name, text]]) => ({
    name: `import: ${what}`,
    size: 0,
    run: ({ env, tenantId }: World) => imported({ env, tenantId, name, text: text() }),
  }));
}

const IMPORT_MS = 20_000;

async function imported(given: {
  env: NodeJS.ProcessEnv;
  tenantId: string;
  name: string;
  text: string;
}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-hostile-'));
  const file = join(folder, given.name);
  writeFileSync(file, given.text);
  const started = performance.now();
  try {
    const { code, stdout, stderr } = await run(['import', file, '--tenant', given.tenantId], given.env);
    const said = stdout + stderr;
    if (code === null || code > 2 || /TypeError|RangeError|\n\s+at /.test(said))
      return `broken: ${code} ${said.slice(0, 300)}`;
    if (said.includes('\x1b]') || said.includes('\x1b[2J')) return 'broken: it prints what a terminal obeys';
    return performance.now() - started > IMPORT_MS ? 'broken: it takes too long' : `exit ${code}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function feedbackCases(): HostileCase[] {
  return SHAPES.map((shape) => {
    const text = encodeURIComponent(shape.of(1_500).toWellFormed()).slice(0, 15_000);
    return {
      name: `feedback: a token of ${shape.name}`,
      size: text.length,
      async run({ send }) {
        const token = text.replace(/%[^%]?$/, '');
        const headers = { 'content-type': 'application/x-www-form-urlencoded' };
        await send({ path: `/feedback/${token}` });
        return outcomeOf(
          await send({ method: 'POST', path: `/feedback/${token}`, headers, body: 'a='.repeat(500) }),
        );
      },
    };
  });
}

/** Reads of a tenant at its limits: whole batches, and everything computed over stored posts. */
function batchCases(): HostileCase[] {
  const post = (n: number, text: string) => ({
    platform: { name: 'forum', post_url: `https://a.example/${n}-${text.length}` },
    text,
  });
  const batch = (texts: string[]) => ({ signals: texts.map((text, n) => post(n, text)) });
  const fitting = SHAPES.map((shape) => ({
    what: `a batch of posts of ${shape.name}`,
    async run({ call }: World) {
      const text = shape.of(19_000).toWellFormed();
      const count = Math.max(1, Math.min(100, Math.floor(4_900_000 / (JSON.stringify(text).length + 100))));
      return outcomeOf(
        await call(
          'POST',
          '/v1/signals/batch',
          batch(Array.from({ length: count }, (_, n) => `${n} ${text}`)),
        ),
      );
    },
  }));
  const many = {
    what: 'a batch of as many posts as may be',
    async run({ call }: World) {
      const texts = Array.from(
        { length: 500 },
        (_, n) => `Looking for a CRM ${n}, budget approved, ${'we need it now. '.repeat(500)}`,
      );
      return outcomeOf(await call('POST', '/v1/signals/batch', batch(texts)));
    },
  };
  const judged = {
    what: 'suggestions of a profile with 500 judged posts, and their screen',
    async run({ call, screen }: World) {
      const icp = await call('POST', '/v1/icps', {
        name: `J${++leads}`,
        phrases: ['crm', 'scheduling software'],
      });
      const { id } = JSON.parse(icp.body).data;
      for (let from = 0; from < 500; from += 100) {
        const signals = Array.from({ length: 100 }, (_, n) => ({
          ...post(
            from + n,
            `Looking for a crm ${leads} ${from + n}. ${'Our school project needs scheduling software by Friday. '.repeat(350)}`.slice(
              0,
              19_990,
            ),
          ),
          icp_profile_id: id,
        }));
        const stored = await call('POST', '/v1/signals/batch', { signals });
        const ids = [...stored.body.matchAll(/"signal_id":"([^"]+)"/g)].map(([, signalId]) => signalId);
        for (const signalId of ids)
          await call('POST', `/v1/signals/${signalId}/feedback`, {
            relevant: Number(signalId?.length) % 2 === 0,
            reason: 'Homework',
          });
      }
      const views = [
        call('GET', `/v1/icps/${id}/suggestions`),
        call('GET', `/v1/icps/${id}/quality`),
        call('POST', '/v1/icps/preview', { phrases: ['crm'], limit: 100 }),
        screen(`/dashboard/profiles/${id}`),
      ];
      return (await Promise.all(views)).map(outcomeOf).join(' ');
    },
  };
  return [...fitting, many, judged].map(({ what, run: go }) => ({
    name: `v1: ${what}`,
    size: 4_900_000,
    run: go,
  }));
}
