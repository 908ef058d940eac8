import { describe, expect, test } from 'vitest';
import { toIso } from '../../../src/lib/clock.ts';
import { parseBytes } from '../../../src/lib/json.ts';
import type { Lead, LeadQuery } from '../../../src/model/lead.ts';
import type { Store } from '../../../src/store/store.ts';
import { aLead, aNewLead } from '../../support/leads.ts';
import { T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const ANY: LeadQuery = {
  stages: [],
  classifications: [],
  minScore: null,
  companyDomains: [],
  sources: [],
  owners: [],
  tag: null,
  identity: null,
  q: null,
  sort: '-created_at',
  limit: 25,
  after: null,
};

const company = (domain: string): Lead['company'] => ({
  name: '',
  domain,
  industry: '',
  headcount: '',
  location: '',
});

const LEADS: Partial<Lead>[] = [
  { stage: 'new', icp_score: 10, classification: 'cold', source: 'Web', tags: ['VIP', 'roof'] },
  { stage: 'contacted', icp_score: 90, classification: 'hot', source: 'web', company: company('acme.com') },
  {
    stage: 'won',
    icp_score: 50,
    classification: 'warm',
    source: 'reddit',
    company: company('beta.com'),
    name: 'Zoë Quinn',
    title: 'Plumber',
  },
  { stage: 'new', tags: ['vip'] },
  { stage: 'lost', icp_score: 90, classification: 'hot', company: company('acme.com') },
];

async function openWithLeads(open: OpenStore): Promise<Store> {
  const { store } = await openWithTenants(open);
  for (const [i, overrides] of LEADS.entries()) await add(store, `led_${i + 1}`, T0 + i * 1_000, overrides);
  await store.commitLead(aNewLead('ten_b', aLead('led_b', { tags: ['vip'] })));
  return store;
}

async function add(store: Store, id: string, createdAt: number, overrides: Partial<Lead> = {}) {
  await store.commitLead(aNewLead('ten_a', aLead(id, { created_at: toIso(createdAt), ...overrides })));
}

const numbers = (rows: Buffer[]) => rows.map((row) => Number(parseBytes<Lead>(row).id.slice(4)));

export function describeLeadList(open: OpenStore): void {
  describe('pages of leads', () => {
    test.each<[string, Partial<LeadQuery>, number[]]>([
      ['nothing', {}, [5, 4, 3, 2, 1]],
      ['a stage', { stages: ['new'] }, [4, 1]],
      ['several stages', { stages: ['new', 'won'] }, [4, 3, 1]],
      ['a classification', { classifications: ['hot'] }, [5, 2]],
      ['several classifications', { classifications: ['hot', 'warm'] }, [5, 3, 2]],
      ['a least score', { minScore: 50 }, [5, 3, 2]],
      ['a domain', { companyDomains: ['acme.com'] }, [5, 2]],
      ['several domains', { companyDomains: ['acme.com', 'beta.com'] }, [5, 3, 2]],
      ['a source, in any case', { sources: ['web'] }, [2, 1]],
      ['a tag, in any case', { tag: 'vip' }, [4, 1]],
      ['an address', { identity: 'email:led_2@acme.com' }, [2]],
      ['the beginning of a word', { q: 'zoë' }, [3]],
      ['beginnings in any order and case', { q: 'PLU, zo' }, [3]],
      ['a whole address', { q: 'led_2@acme.com' }, [2]],
      ['a part of the company', { q: 'acme' }, [5, 4, 3, 2, 1]],
      ['words of which one is missing', { q: 'zoe roof' }, []],
      ['nothing that could be a word', { q: '?!' }, []],
      ['an address that nobody has', { identity: 'email:nobody@acme.com' }, []],
      [
        'all at once',
        { stages: ['new'], classifications: ['cold'], minScore: 5, sources: ['web'], tag: 'vip' },
        [1],
      ],
    ])('filtered by %s, lists only the matches in every order', async (_, query, expected) => {
      const store = await openWithLeads(open);
      const list = async (sort: LeadQuery['sort']) =>
        numbers((await store.listLeads('ten_a', { ...ANY, ...query, sort })).rows);
      expect(await list('-created_at')).toEqual(expected);
      expect(await list('created_at')).toEqual([...expected].reverse());
      const byScore = [...expected].sort(
        (a, b) => (LEADS[b - 1]?.icp_score ?? -1) - (LEADS[a - 1]?.icp_score ?? -1),
      );
      expect(await list('-icp_score')).toEqual(byScore);
    });

    test.each<[LeadQuery['sort'], string | null]>([
      ['-created_at', null],
      ['created_at', null],
      ['-icp_score', null],
      ['-created_at', 'vip'],
      ['-icp_score', 'vip'],
    ])(
      'paging by %s (tag %s) returns every lead exactly once, even if others are added meanwhile',
      async (sort, tag) => {
        const store = await openWithLeads(open);
        const whole = numbers((await store.listLeads('ten_a', { ...ANY, sort, tag })).rows);
        const seen: number[] = [];
        let after: LeadQuery['after'] = null;
        let added = 100;
        do {
          const page = await store.listLeads('ten_a', { ...ANY, sort, tag, limit: 1, after });
          seen.push(...numbers(page.rows));
          after = page.last;
          if (added < 103) await add(store, `led_${added}`, T0 + added++ * 1_000, { tags: ['vip'] });
        } while (after !== null);
        expect(seen.filter((number) => number < 100)).toEqual(whole);
        expect(new Set(seen).size).toBe(seen.length);
      },
    );

    test('a search for two hundred words is answered at once', async () => {
      const store = await openWithLeads(open);
      const word = (n: number) => String.fromCodePoint(0x4e00 + n);
      const name = Array.from({ length: 200 }, (_, n) => word(n)).join('');
      await add(store, 'led_6', T0 + 6_000, { name });
      await add(store, 'led_7', T0 + 7_000, { name: name.slice(0, -1) });
      const { rows } = await store.listLeads('ten_a', { ...ANY, q: name });
      expect(numbers(rows)).toEqual([6]);
    });

    test.each<Partial<LeadQuery>>([
      { q: 'acme ann' },
      { q: 'acme ann', tag: 'vip' },
      { owners: ['ann@acme.com'], sources: ['web'] },
      { companyDomains: ['acme.com', 'beta.com'], minScore: 50 },
      { stages: ['won'], tag: 'vip' },
    ])('of values that many leads have (%j), every match is on one page, in every order', async (query) => {
      const { store } = await openWithTenants(open);
      for (let n = 0; n < 640; n++)
        await add(store, `led_${n + 1}`, T0 + Math.floor(n / 3) * 1_000, {
          name: n % 5 === 0 ? 'Zoe' : 'Ann',
          company: company(n % 2 === 0 ? 'acme.com' : 'beta.com'),
          ...{ icp_score: n % 4 === 0 ? 10 : 60, classification: 'warm', owner: 'ann@acme.com' },
          ...{ source: n % 3 === 0 ? 'Web' : 'mail', stage: n % 7 === 0 ? 'won' : 'new', tags: ['VIP'] },
        });
      const isMatch = (n: number) =>
        (query.q === undefined || n % 5 !== 0) &&
        (query.sources === undefined || n % 3 === 0) &&
        (query.minScore === undefined || n % 4 !== 0) &&
        (query.stages === undefined || n % 7 === 0);
      const expected = Array.from({ length: 640 }, (_, n) => n).filter(isMatch);
      for (const sort of ['-created_at', 'created_at', '-icp_score'] as const) {
        const seen: Buffer[] = [];
        let after: LeadQuery['after'] = null;
        do {
          const page = await store.listLeads('ten_a', { ...ANY, ...query, sort, limit: 100, after });
          seen.push(...page.rows);
          after = page.last;
        } while (after !== null);
        expect(numbers(seen).sort((a, b) => a - b)).toEqual(expected.map((n) => n + 1));
        const leads = seen.map((row) => parseBytes<Lead>(row));
        const inOrder = leads.toSorted((a, b) => {
          const byTime = a.created_at.localeCompare(b.created_at) || (a.id < b.id ? -1 : 1);
          if (sort === 'created_at') return byTime;
          return (sort === '-icp_score' ? (b.icp_score ?? 0) - (a.icp_score ?? 0) : 0) || -byTime;
        });
        expect(leads.map(({ id }) => id)).toEqual(inOrder.map(({ id }) => id));
      }
    });

    test('rejects a position of another order', async () => {
      const store = await openWithLeads(open);
      const page = store.listLeads('ten_a', { ...ANY, sort: '-icp_score', after: [1, 'led_1'] });
      await expect(page).rejects.toMatchObject({ code: 'INVALID_CURSOR' });
    });
  });
}
