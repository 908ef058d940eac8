import { describe, expect, test } from 'vitest';
import type { Company, CompanyQuery } from '../../../src/model/company.ts';
import { NO_FACTS } from '../../../src/model/company-facts.ts';
import type { Signal } from '../../../src/model/signal.ts';
import type { NewSignal } from '../../../src/store/signal-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { aSignal, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const HOUR = 3_600_000;

function aCompany(overrides: Partial<Company> = {}): Company {
  return {
    id: 'cmp_1',
    tenantId: 'ten_a',
    domain: 'acme.com',
    facts: NO_FACTS,
    createdAt: T0,
    updatedAt: T0,
    version: 1,
    ...overrides,
  };
}

/** A signal with facts about a company; `id` becomes the ID of the company if it is new. */
function aSignalOf(
  id: string,
  says: Partial<Signal['company']>,
  overrides: Partial<NewSignal> = {},
): NewSignal {
  const company = { name: '', domain: 'acme.com', industry: '', headcount: '', location: '', ...says };
  return aSignal('ten_a', { companyDomain: company.domain, company: { id, company }, ...overrides });
}

async function listIds(store: Store, query: Partial<CompanyQuery> = {}) {
  const all: CompanyQuery = {
    domains: [],
    industries: [],
    search: null,
    sort: '-created_at',
    limit: 10,
    after: null,
  };
  const { rows, last } = await store.listCompanies('ten_a', { ...all, ...query });
  return { ids: rows.map(({ id }) => id), last };
}

export function describeCompanies(open: OpenStore): void {
  describe('companies', () => {
    test('stores a company once, and finds it by ID and domain only in its tenant', async () => {
      const { store } = await openWithTenants(open);
      const company = aCompany({ facts: { manual: { name: { value: 'Acme', at: T0 } }, observed: {} } });
      expect(await store.saveCompany(company, 0)).toBe(true);
      expect(await store.saveCompany(aCompany({ id: 'cmp_2' }), 0)).toBe(false);
      expect(await store.findCompany('ten_a', { id: 'cmp_1' })).toEqual(company);
      expect(await store.findCompany('ten_a', { domain: 'acme.com' })).toEqual(company);
      expect(await store.findCompany('ten_b', { id: 'cmp_1' })).toBeNull();
      expect(await store.findCompany('ten_b', { domain: 'acme.com' })).toBeNull();
      expect(await store.saveCompany(aCompany({ id: 'cmp_b', tenantId: 'ten_b' }), 0)).toBe(true);
    });

    test('a change applies only to the version it is based on', async () => {
      const { store } = await openWithTenants(open);
      await store.saveCompany(aCompany(), 0);
      const changed = (at: number) => store.saveCompany(aCompany({ updatedAt: at, version: 2 }), 1);
      expect(await Promise.all([changed(T0 + 1), changed(T0 + 2)])).toEqual([true, false]);
      expect(await store.saveCompany(aCompany({ tenantId: 'ten_b', version: 3 }), 2)).toBe(false);
      expect(await store.findCompany('ten_a', { id: 'cmp_1' })).toMatchObject({
        updatedAt: T0 + 1,
        version: 2,
      });
    });

    test('a new signal creates or updates its company, but a duplicate does neither', async () => {
      const { store } = await openWithTenants(open);
      const first = aSignalOf('cmp_1', { name: 'Acme' }, { id: 'sig_1', externalId: 'p1' });
      await store.commitSignals([
        first,
        aSignalOf('cmp_2', { industry: 'Heating' }, { id: 'sig_2', timestamp: T0 + 5 }),
        { ...aSignalOf('cmp_3', { domain: 'globex.com' }), externalId: 'p1' },
        aSignal('ten_a'),
      ]);
      expect(await store.findCompany('ten_a', { domain: 'acme.com' })).toEqual(
        aCompany({
          facts: {
            manual: {},
            observed: {
              name: { value: 'Acme', signal_id: 'sig_1', at: T0 },
              industry: { value: 'Heating', signal_id: 'sig_2', at: T0 + 5 },
            },
          },
          updatedAt: T0 + 5,
          version: 2,
        }),
      );
      expect((await listIds(store)).ids).toEqual(['cmp_1']);
    });

    test('a signal without new facts does not change the version', async () => {
      const { store } = await openWithTenants(open);
      await store.commitSignals([aSignalOf('cmp_1', { name: 'Acme' })]);
      await store.commitSignals([aSignalOf('cmp_2', { name: 'Acme' }, { timestamp: T0 + 5 * HOUR })]);
      expect(await store.findCompany('ten_a', { id: 'cmp_1' })).toMatchObject({ version: 1, updatedAt: T0 });
    });

    test('pages are newest first or most active first, each company once', async () => {
      const { store } = await openWithTenants(open);
      await store.saveCompany(aCompany({ id: 'cmp_0', domain: 'quiet.com', createdAt: T0 + 9 * HOUR }), 0);
      for (const [index, hour] of [4, 2, 2].entries()) {
        const says = { domain: `d${index}.com` };
        await store.commitSignals([
          aSignalOf(`cmp_${index + 1}`, says, { timestamp: T0 + hour * HOUR + index }),
        ]);
      }
      expect(await listIds(store, { limit: 2 })).toEqual({
        ids: ['cmp_0', 'cmp_1'],
        last: [T0 + 4 * HOUR, 'cmp_1'],
      });
      expect(await listIds(store, { after: [T0 + 4 * HOUR, 'cmp_1'] })).toEqual({
        ids: ['cmp_3', 'cmp_2'],
        last: null,
      });
      const active = { sort: '-last_signal_at' } as const;
      expect(await listIds(store, { ...active, limit: 2 })).toEqual({
        ids: ['cmp_1', 'cmp_3'],
        last: [T0 + 2 * HOUR, 'cmp_3'],
      });
      expect((await listIds(store, { ...active, after: [T0 + 2 * HOUR, 'cmp_3'] })).ids).toEqual([
        'cmp_2',
        'cmp_0',
      ]);
      await store.commitSignals([aSignalOf('cmp_9', { domain: 'd1.com' }, { timestamp: T0 + 8 * HOUR })]);
      expect((await listIds(store, active)).ids).toEqual(['cmp_2', 'cmp_1', 'cmp_3', 'cmp_0']);
    });

    test('filters use the facts currently in effect', async () => {
      const { store } = await openWithTenants(open);
      await store.commitSignals([
        aSignalOf('cmp_1', { name: 'Müller', industry: 'Heating' }),
        aSignalOf('cmp_2', { domain: 'globex.com', name: 'Globex', industry: 'Energy' }),
      ]);
      const found = async (query: Partial<CompanyQuery>) => (await listIds(store, query)).ids;
      for (const sort of ['-created_at', '-last_signal_at'] as const) {
        expect(await found({ sort, industries: ['heating'] })).toEqual(['cmp_1']);
        expect(await found({ sort, industries: ['heating', 'energy'] })).toEqual(['cmp_2', 'cmp_1']);
        expect(await found({ sort, domains: ['globex.com', 'none.com'] })).toEqual(['cmp_2']);
        expect(await found({ sort, search: 'mull' })).toEqual(['cmp_1']);
        expect(await found({ sort, search: 'obex.c' })).toEqual(['cmp_2']);
      }
      const company = await store.findCompany('ten_a', { id: 'cmp_1' });
      if (company === null) throw new Error('it was just made');
      const facts = { ...company.facts, manual: { industry: { value: 'Plumbing', at: T0 } } };
      await store.saveCompany({ ...company, facts, version: 2 }, 1);
      expect(await found({ industries: ['heating'] })).toEqual([]);
      expect(await found({ industries: ['plumbing'] })).toEqual(['cmp_1']);
    });

    test('activity counts the signals of a domain since each given time, for one tenant', async () => {
      const { store } = await openWithTenants(open);
      await store.commitSignals([
        ...[0, 10, 20].map((at) => aSignalOf('cmp_1', {}, { timestamp: T0 + at })),
        aSignal('ten_b', { companyDomain: 'acme.com', timestamp: T0 + 99 }),
      ]);
      expect(
        await store.readCompanyActivity('ten_a', ['none.com', 'acme.com'], [T0 + 20, T0 + 10, 0]),
      ).toEqual([
        { counts: [0, 0, 0], lastAt: null },
        { counts: [1, 2, 3], lastAt: T0 + 20 },
      ]);
    });

    test('top signals are the best ones since a given time', async () => {
      const { store } = await openWithTenants(open);
      const scored = (score: number, at: number) =>
        aSignalOf('cmp_1', {}, { score, timestamp: T0 + at, wire: JSON.stringify({ score, at }) });
      await store.commitSignals([scored(90, 0), scored(50, 1), scored(80, 2), scored(80, 3), scored(10, 4)]);
      const top = (limit: number) => store.listTopSignals('ten_a', 'acme.com', { since: T0 + 1, limit });
      expect((await top(3)).map((wire) => JSON.parse(wire))).toEqual([
        { score: 80, at: 3 },
        { score: 80, at: 2 },
        { score: 50, at: 1 },
      ]);
      expect(await store.listTopSignals('ten_b', 'acme.com', { since: 0, limit: 3 })).toEqual([]);
    });
  });
}
