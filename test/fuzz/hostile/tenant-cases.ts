import type { HostileCase } from './case.ts';
import { outcomeOf } from './case.ts';
import type { Reply, World } from './world.ts';

/** The limits of a tenant on the largest plan, used so that each post, view or change is as costly as possible. */
export function tenantCases(): HostileCase[] {
  const cases: Record<string, (world: World) => Promise<string>> = {
    'phrases within phrases, and a post of their word': nestedPhrases,
    'phrases within phrases in a hundred profiles, and a batch of posts of their word': (world) =>
      nestedPhrases(world, 100, 20),
    'fifty thousand long phrases, posts that hold many, and changes': manyPhrases,
    'payload formats as large as may be, and a batch of posts': largePayloads,
    'a hundred endpoints, and a batch of posts': manyEndpoints,
    'a thousand profiles, listed and shown': manyProfiles,
    'three thousand endpoints, a post, and their lists': veryManyEndpoints,
    'a phrase of common words that stands nowhere, looked for': commonPhrases,
    'a person named in every post, erased': erasedPerson,
    'posts that are nearly the same': nearPosts,
    'a page of the longest posts': longPages,
    'every screen and list of what is there': everyScreen,
    'a lead of many fields and tags, changed and shown': largeLead,
  };
  return Object.entries(cases).map(([name, run]) => ({
    name: `tenant: ${name}`,
    size: 0,
    run: (world) => run(world),
  }));
}

const words = (count: number, word: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => word(n)).join(' ');
const post = (text: string, n = 0) => ({
  platform: { name: 'forum', post_url: `https://a.example/${n}/${++made}` },
  text: text.slice(0, 19_990),
});
let made = 0;

async function create(world: World, path: string, body: object): Promise<string> {
  const reply = await world.call('POST', path, body);
  if (reply.status !== 201) throw new Error(`${path}: ${reply.status} ${reply.body.slice(0, 300)}`);
  return JSON.parse(reply.body).data.id;
}

async function removeAll({ call }: World, path: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) await call('DELETE', `${path}/${id}`);
}

async function nestedPhrases(world: World, profiles = 1, posts = 1): Promise<string> {
  const phrases = Array.from({ length: 50 }, (_, n) => words(n + 1, () => 'a'));
  const ids: string[] = [];
  for (let n = 0; n < profiles; n++)
    ids.push(await create(world, '/v1/icps', { name: `N${++made}`, phrases }));
  const signals = Array.from({ length: posts }, (_, n) =>
    post(`Looking for a CRM. ${words(9_900, () => 'a')}`, n),
  );
  const reply = await world.call('POST', '/v1/signals/batch', { signals });
  await removeAll(world, '/v1/icps', ids);
  return outcomeOf(reply);
}

async function manyPhrases(world: World): Promise<string> {
  const wordsOf = (n: number) => words(16, (at) => ((n * 16 + at) * 7_919).toString(36).slice(-5));
  const ids: string[] = [];
  for (let profile = 0; profile < 240; profile++) {
    const phrases = Array.from({ length: 200 }, (_, n) => wordsOf(profile * 200 + n));
    ids.push(await create(world, '/v1/icps', { name: `M${++made}`, phrases }));
  }
  const signals = Array.from({ length: 20 }, (_, n) =>
    post(`Looking for a CRM. ${words(190, (at) => `${wordsOf((at * 250 + n) % 48_000)}.`)}`, n),
  );
  const replies = [await world.call('POST', '/v1/signals/batch', { signals })];
  for (const id of [ids[0], ids.at(-1)]) {
    await world.call('PATCH', `/v1/icps/${id}`, { phrases: ['crm'] });
    replies.push(await world.call('POST', '/v1/signals', post('Looking for a CRM, budget approved.')));
  }
  await removeAll(world, '/v1/icps', ids);
  return replies.map(outcomeOf).join(' ');
}

async function largePayloads(world: World): Promise<string> {
  const ids: string[] = [];
  for (let n = 0; n < 28; n++) {
    const custom = Object.fromEntries(Array.from({ length: 15 }, (_, at) => [`a${at}`, 'a'.repeat(1_000)]));
    const url = `https://127.0.0.1:8443/${n}`;
    ids.push(
      await create(world, '/v1/webhooks', {
        url,
        classifications: ['hot', 'warm', 'cold'],
        payload_format: { custom },
      }),
    );
  }
  const signals = Array.from({ length: 100 }, (_, n) =>
    post(`Looking for a CRM ${n}, budget approved, we buy this month. Any recommendations?`, n),
  );
  const reply = await world.call('POST', '/v1/signals/batch', { signals });
  await removeAll(world, '/v1/webhooks', ids);
  return outcomeOf(reply);
}

async function manyEndpoints(world: World): Promise<string> {
  const ids: string[] = [];
  for (let n = 0; n < 100; n++)
    ids.push(
      await create(world, '/v1/webhooks', {
        url: `https://127.0.0.1:8443/${n}`,
        classifications: ['hot', 'warm', 'cold'],
      }),
    );
  const signals = Array.from({ length: 200 }, (_, n) =>
    post(`Looking for a CRM ${n}, budget approved, we buy this month. Any recommendations?`, n),
  );
  const reply = await world.call('POST', '/v1/signals/batch', { signals });
  await removeAll(world, '/v1/webhooks', ids);
  return outcomeOf(reply);
}

/** Creates that many resources, several at a time. */
async function createMany(
  world: World,
  path: string,
  count: number,
  body: (n: number) => object,
): Promise<string[]> {
  const ids: string[] = [];
  for (let from = 0; from < count; from += 20) {
    const some = Array.from({ length: Math.min(20, count - from) }, (_, n) =>
      create(world, path, body(from + n)),
    );
    ids.push(...(await Promise.all(some)));
  }
  return ids;
}

async function manyProfiles(world: World): Promise<string> {
  const ids = await createMany(world, '/v1/icps', 950, (n) => ({
    name: `P${++made}`,
    description: 'a'.repeat(1_900),
    phrases: Array.from(
      { length: 50 },
      (_, at) => `${words(18, (word) => ((n * 50 + at) * 18 + word).toString(36))}`,
    ),
  }));
  const lists = await Promise.all(['/v1/icps?limit=100', '/v1/me'].map((path) => world.call('GET', path)));
  const screens: Reply[] = [];
  for (const path of [
    '/profiles',
    '/signals',
    '/webhooks/new',
    '/sources/new',
    '/find?q=p',
    '',
    `/profiles/${ids[0]}`,
  ])
    screens.push(await world.screen(`/dashboard${path}`));
  await removeAll(world, '/v1/icps', ids);
  return [...new Set([...lists, ...screens].map(outcomeOf))].join(' ');
}

async function veryManyEndpoints(world: World): Promise<string> {
  const ids = await createMany(world, '/v1/webhooks', 3_000, (n) => ({
    url: `https://127.0.0.1:8443/${n}`,
    label: 'a'.repeat(90),
    classifications: ['hot', 'warm', 'cold'],
  }));
  const replies = [
    await world.call('POST', '/v1/signals', post('Looking for a CRM, budget approved, we buy this month.')),
    await world.call('GET', '/v1/webhooks?limit=100'),
    await world.call('GET', '/v1/deliveries?limit=100'),
    await world.call('GET', '/v1/events?limit=10'),
  ];
  for (const path of [
    '/settings/integrations/webhooks',
    '/webhook-logs',
    '/webhook-logs/events',
    '/find?q=a',
    '',
    '/sources',
  ])
    replies.push(await world.screen(`/dashboard${path}`));
  await removeAll(world, '/v1/webhooks', ids);
  return [...new Set(replies.map(outcomeOf))].join(' ');
}

async function commonPhrases(world: World): Promise<string> {
  for (let from = 0; from < 1_500; from += 100) {
    const signals = Array.from({ length: 100 }, (_, n) =>
      post(
        `Looking for a CRM ${from + n}. ${words(2_400, (at) => ['alpha', 'beta', 'gamma', 'delta'][at % 4] ?? '')}`,
        n,
      ),
    );
    const stored = await world.call('POST', '/v1/signals/batch', { signals });
    if (stored.status !== 200) return outcomeOf(stored);
  }
  const asked = [
    '"alpha gamma"',
    '"beta delta" "gamma alpha"',
    'alpha beta gamma delta nowhere',
    '"delta gamma beta alpha"',
  ];
  const replies: Reply[] = [];
  for (const q of asked.map(encodeURIComponent)) {
    for (const path of [
      `signals?q=${q}`,
      `signals?q=${q}&sort=timestamp`,
      `signals?q=${q}&sort=-icp_score`,
      `signals?q=${q}&order=stored`,
      `leads?q=${q}`,
    ])
      replies.push(await world.call('GET', `/v1/${path}`));
    replies.push(await world.screen(`/dashboard/find?q=${q}`));
  }
  return [...new Set(replies.map(outcomeOf))].join(' ');
}

/** Erasing searches every signal of the tenant for the stored data of the person and masks it. */
async function erasedPerson(world: World): Promise<string> {
  const name = `Jane${++made} Doe`;
  const email = `jane${made}@example.com`;
  for (let from = 0; from < 400; from += 100) {
    const signals = Array.from({ length: 100 }, (_, n) => ({
      ...post(`Looking for a CRM ${from + n}. ${`${name} Jane Doe ${email} `.repeat(450)}`, n),
      prospect: { name, email },
    }));
    const stored = await world.call('POST', '/v1/signals/batch', { signals });
    if (stored.status !== 200) return outcomeOf(stored);
  }
  const id = await create(world, '/v1/leads', { email, name });
  return outcomeOf(await world.call('DELETE', `/v1/leads/${id}`));
}

/** Texts similar enough to be compared word by word, that differ in as many words as possible. */
async function nearPosts(world: World): Promise<string> {
  const same = words(2_000, (n) => `w${n.toString(36)}`);
  const signals = Array.from({ length: 60 }, (_, n) =>
    post(`Looking for a CRM. ${same} ${words(300, (at) => `x${(n * 300 + at).toString(36)}zzzzzzzz`)}`, n),
  );
  return outcomeOf(await world.call('POST', '/v1/signals/batch', { signals }));
}

async function longPages(world: World): Promise<string> {
  const signals = Array.from({ length: 100 }, (_, n) => ({
    ...post(`Looking for a CRM ${n}, "${'budget approved, we switch from Acme this month. '.repeat(400)}`, n),
    prospect: { name: 'a'.repeat(200), title: 'a'.repeat(200) },
  }));
  await world.call('POST', '/v1/signals/batch', { signals });
  const pages = [
    '/v1/signals?limit=100&include=explanation',
    '/v1/signals?limit=100&q=crm',
    '/v1/events?limit=100',
  ];
  const replies = await Promise.all(
    pages.map((path) => world.call('GET', path, undefined, { 'accept-encoding': 'br' })),
  );
  const screens = await Promise.all(
    ['/dashboard', '/dashboard/signals?q=crm', '/dashboard/find?q=crm', '/dashboard/find?q=a'].map(
      world.screen,
    ),
  );
  return [...replies, ...screens].map(outcomeOf).join(' ');
}

const SCREENS = [
  ...[
    '',
    '/start',
    '/signals',
    '/signals?sort=-icp_score',
    '/leads',
    '/leads?sort=-icp_score',
    '/pipeline',
    '/companies',
  ],
  ...[
    '/campaigns',
    '/profiles',
    '/profiles/new',
    '/sources',
    '/webhooks',
    '/webhook-logs',
    '/webhook-logs/events',
  ],
  ...[
    '/settings/api-keys',
    '/settings/team',
    '/settings/audit',
    '/settings/outbox',
    '/settings/plan',
    '/find?q=word',
  ],
];
const LISTS = [
  'signals',
  'leads',
  'pipeline',
  'companies',
  'campaigns',
  'icps',
  'sources',
  'webhooks',
  'keys',
  'events',
];

async function everyScreen(world: World): Promise<string> {
  const screens = await Promise.all(SCREENS.map((path) => world.screen(`/dashboard${path}`)));
  const lists = await Promise.all(LISTS.map((path) => world.call('GET', `/v1/${path}?limit=100`)));
  const outcomes = [...screens, ...lists].map(outcomeOf);
  return outcomes.find((outcome) => outcome.startsWith('broken')) ?? [...new Set(outcomes)].join(' ');
}

async function largeLead(world: World): Promise<string> {
  const fields = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`a${n}`, 'a'.repeat(500)]));
  const made1 = await world.call('POST', '/v1/leads', {
    email: `large${++made}@example.com`,
    custom_fields: fields,
    tags: Array.from({ length: 20 }, (_, n) => `tag${n}`),
  });
  if (made1.status >= 300) return outcomeOf(made1);
  const { id } = JSON.parse(made1.body).data;
  const changed = await world.call('PATCH', `/v1/leads/${id}`, { custom_fields: { ...fields, a0: 'b' } });
  const screens = [
    await world.screen(`/dashboard/leads/${id}`),
    await world.screen(`/dashboard/leads/${id}/edit`),
  ];
  return [changed, ...screens].map(outcomeOf).join(' ');
}
