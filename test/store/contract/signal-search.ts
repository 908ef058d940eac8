import { describe, expect, test } from 'vitest';
import type { SignalQuery } from '../../../src/model/signal.ts';
import type { Store } from '../../../src/store/store.ts';
import { aSignal, T0 } from '../../support/store.ts';
import { ANY, rowsOf } from './signal-list.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const WIRE = {
  prospect: {
    name: 'Zoë Łukasz',
    title: 'Head of Operations',
    email: 'zoe.l@acme-heating.com',
    linkedin_url: '',
  },
  company: {
    name: 'Acme Heating',
    domain: 'acme-heating.com',
    industry: 'HVAC',
    headcount: '',
    location: 'Malmö',
  },
};

async function openWithPosts(open: OpenStore) {
  const opened = await openWithTenants(open);
  const post = (id: string, at: number, text: string, wire: object = {}) =>
    aSignal('ten_a', {
      id,
      timestamp: T0 + at,
      text,
      score: 10 * at,
      wire: JSON.stringify({ signal_id: id, ...wire }),
    });
  await opened.store.commitSignals([
    post('sig_1', 1, 'Recommend a CRM for plumbers? Follow-up emails fall through.'),
    post('sig_2', 2, 'Our C++ agencies are late; “CRM recommend” they said.', WIRE),
    post('sig_3', 3, 'Café in 東京都 needs booking. Don’t AND me, OR (not) NEAR "this"!'),
  ]);
  const other = { id: 'sig_b', text: 'Recommend a CRM, plumbers!', wire: '{"signal_id":"sig_b"}' };
  await opened.store.commitSignals([aSignal('ten_b', other)]);
  return opened;
}

async function find(store: Store, q: string, query: Partial<SignalQuery> = {}): Promise<string[]> {
  const page = await store.listSignals('ten_a', { ...ANY, ...query, q });
  return rowsOf(page).map((row) => row.signal_id);
}

export function describeSignalSearch(open: OpenStore): void {
  describe('searching signals', () => {
    test.each<[string, string, string[]]>([
      ['the beginning of a word', 'plum', ['sig_1']],
      ['of several words at once', 'recommen', ['sig_2', 'sig_1']],
      ['the whole word', 'crm', ['sig_2', 'sig_1']],
      ['a whole word before it', 'crm plumb', ['sig_1']],
      ['a beginning where a whole word is asked for', 'plumb crm', []],
      ['the end of what is grown together', 'acme-hea', ['sig_2']],
      ['a beginning of what only another tenant has', 'filter', []],
      ['no word at all', '…', []],
    ])('a last word that may be incomplete: %s', async (_, q, expected) => {
      const { store } = await openWithPosts(open);
      expect(await find(store, q, { qBegins: true })).toEqual(expected);
    });

    test.each<[string, string, string[]]>([
      ['a word, in any case', 'cRm', ['sig_2', 'sig_1']],
      ['several words, in any order, all of them', 'plumbers crm', ['sig_1']],
      ['a singular for a plural', 'plumber', ['sig_1']],
      ['a plural for a singular', 'recommends', ['sig_2', 'sig_1']],
      ['-ies and -y', 'agency', ['sig_2']],
      ['quoted words side by side', '"recommend a crm"', ['sig_1']],
      ['quoted words that stand apart', '"crm plumbers"', []],
      ['an open quotation', '"crm recommend', ['sig_2']],
      ['what is grown together, as a phrase', 'follow-up', ['sig_1']],
      ['a name without its diacritics', 'zoe lukasz', ['sig_2']],
      ['a name with them', 'ZOË', ['sig_2']],
      ['a title', 'operations', ['sig_2']],
      ['an address', 'zoe.l@acme-heating.com', ['sig_2']],
      ['a company', 'acme heating', ['sig_2']],
      ['a domain', 'acme-heating.com', ['sig_2']],
      ['a place', 'malmo', ['sig_2']],
      ['no phrase over two fields', '"acme heating acme"', []],
      ['a name of a language that ends in signs', 'C++', ['sig_2']],
      ['a part of a run of ideographs', '東京', ['sig_3']],
      ['text and person together', 'late zoe', ['sig_2']],
      ['a part of a word', 'recom', []],
      ['operators as words', 'AND OR NOT NEAR', ['sig_3']],
      ['apostrophes of either kind', "don't", ['sig_3']],
      ['nothing that is a word', '*:^(){}"-+', []],
      ['a filter’s own term', 'ten_a#class:hot', []],
      ['columns and prefixes as words', 'terms:crm* ^crm', []],
      ['signs between words', 'crm & (plumbers) *', ['sig_1']],
      ['words of another tenant', 'ten_b~crm', []],
    ])('finds %s', async (_, q, ids) => {
      const { store } = await openWithPosts(open);
      expect(await find(store, q)).toEqual(ids);
    });

    test('words and filters can be combined, in every order', async () => {
      const { store } = await openWithPosts(open);
      await store.commitSignals([
        aSignal('ten_a', {
          id: 'sig_4',
          text: 'crm',
          platform: 'x',
          wire: '{"signal_id":"sig_4"}',
          score: 95,
          timestamp: T0,
        }),
      ]);
      expect(await find(store, 'crm', { platforms: ['reddit'], minScore: 15 })).toEqual(['sig_2']);
      expect(await find(store, 'crm', { from: T0 + 1, to: T0 + 2 })).toEqual(['sig_1']);
      expect(await find(store, 'crm', { sort: 'timestamp' })).toEqual(['sig_4', 'sig_1', 'sig_2']);
      expect(await find(store, 'crm', { sort: '-icp_score' })).toEqual(['sig_4', 'sig_2', 'sig_1']);
      expect(await find(store, 'crm', { sort: '-icp_score', minScore: 15 })).toEqual(['sig_4', 'sig_2']);
    });

    test('a search for hundreds of words succeeds', async () => {
      const { store } = await openWithPosts(open);
      const words = Array.from({ length: 250 }, (_, i) => String.fromCodePoint(0x100 + i)).join(' ');
      expect(await find(store, words)).toEqual([]);
      expect(await find(store, '東'.repeat(500))).toEqual([]);
    });
  });
}
