import { Pool } from 'undici';

/** The worst that a tenant can do within its limits, by name. */
export const ATTACKS = ['nothing', 'batches', 'previews', 'search', 'formats', 'leads'] as const;
export type Attack = (typeof ATTACKS)[number];

/** An order for the worst tenant: the attack to start. */
export interface Order {
  url: string;
  apiKey: string;
  attack: Attack;
  seconds: number;
}

const CONNECTIONS = 8;
const WORDS =
  'looking for a new crm that our team of twelve can use budget approved any recommendations we want to buy';

interface Call {
  method: 'GET' | 'POST';
  path: string;
  body?: string;
}

// A separate process: creating and sending megabytes would delay the measurement.
process.on('message', (order: Order) => {
  void run(order).then((answers) => process.send?.(answers));
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

async function run({ url, apiKey, attack, seconds }: Order): Promise<Record<string, number>> {
  const answers: Record<string, number> = {};
  if (attack === 'nothing') return answers;
  const pool = new Pool(url, { connections: CONNECTIONS });
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const end = performance.now() + seconds * 1_000;
  let n = 0;
  const work = async () => {
    while (performance.now() < end) {
      const { statusCode, body } = await pool.request({ ...callOf(attack, n++), headers });
      await body.dump();
      answers[statusCode] = (answers[statusCode] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  await pool.close();
  return answers;
}

function callOf(attack: Exclude<Attack, 'nothing'>, n: number): Call {
  switch (attack) {
    // The maximum of a batch is 5 MiB: 500 posts of 9,000 characters.
    case 'batches':
      return post('/v1/signals/batch', {
        signals: Array.from({ length: 500 }, (_, i) => aPost(`${n}-${i}`, 9_000)),
      });
    case 'previews':
      return post('/v1/icps/preview', { phrases: phrases(200), limit: 200 });
    case 'search':
      return {
        method: 'GET',
        path: `/v1/signals?limit=100&sort=-icp_score&q=${encodeURIComponent('looking crm team budget')}`,
      };
    case 'formats':
      return post('/v1/signals', aPost(`f${n}`, 500));
    case 'leads':
      return post('/v1/leads/batch', { leads: Array.from({ length: 100 }, (_, i) => aLead(`${n}-${i}`)) });
  }
}

function post(path: string, body: object): Call {
  return { method: 'POST', path, body: JSON.stringify(body) };
}

/** A post whose text has about this many characters. */
export function aPost(id: string, characters: number) {
  const text = `${id} ${WORDS} `.repeat(Math.ceil(characters / WORDS.length)).slice(0, characters);
  return { platform: { name: 'forum', post_url: `https://forum.example/${id}` }, text };
}

function aLead(id: string) {
  return {
    email: `person-${id}@company-${id}.example`,
    signal: aPost(`l${id}`, 2_000),
    tags: ['a', 'b', 'c'],
  };
}

function phrases(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `looking for ${i} new crm`);
}

/** A payload format that adds about 250 KB to each body. */
export function largeFormat(name: string) {
  const custom = Array.from({ length: 31 }, (_, n) => [`${name}${n}`, name.repeat(8_000)]);
  return { include: ['signal_id', 'excerpt'], custom: Object.fromEntries(custom) };
}
