import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { parseBytes } from '../../../src/lib/json.ts';
import type { Lead, LeadQuery } from '../../../src/model/lead.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { leadPageFace } from '../../../src/store/sqlite/face/pages.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import {
  buildFewLeadsSql,
  buildLeadWalkSql,
  buildMatchingLeadsSql,
  createLeadPages,
} from '../../../src/store/sqlite/reads/leads.ts';
import { createRunner } from '../../../src/store/sqlite/runner.ts';
import { aLead, aNewLead } from '../../support/leads.ts';
import { aTenant } from '../../support/store.ts';

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

/** SQLite's plans for a part of a page, as SQLite describes them. */
function planOf(query: Partial<LeadQuery>): string {
  const db = openDatabase(':memory:');
  migrate(db);
  const { part, edge } = buildLeadWalkSql('ten_a', { ...ANY, ...query }, 100);
  const steps = [part, edge].flatMap(({ sql, values }) =>
    db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values),
  );
  db.close();
  return steps.map((step) => step.detail).join('; ');
}

/** The plan for a page of the few leads with a value. */
function planOfFew(query: Partial<LeadQuery>): string {
  const db = openDatabase(':memory:');
  migrate(db);
  const whole = { ...ANY, ...query };
  const rarest = createLeadPages(db).rarest('ten_a', whole);
  if (rarest === null) throw new Error('no filter has few leads');
  const few = buildFewLeadsSql('ten_a', whole, rarest);
  const matching = buildMatchingLeadsSql('ten_a', whole, []);
  const steps = [few, matching].flatMap(({ sql, values }) =>
    db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values),
  );
  db.close();
  return steps.map((step) => step.detail).join('; ');
}

const POSITION: Record<LeadQuery['sort'], (string | number)[]> = {
  '-created_at': [1, 'led_1'],
  created_at: [1, 'led_1'],
  '-icp_score': [1, 1, 'led_1'],
};

describe('a page of leads is an index scan, never a sort', () => {
  test.each<[string, Partial<LeadQuery>, string]>([
    ['no filter', {}, 'leads_by_time'],
    ['a stage', { stages: ['new'] }, 'leads_by_stage'],
    ['several stages', { stages: ['new', 'won'] }, 'leads_by_time'],
    ['a classification', { classifications: ['hot'] }, 'leads_by_classification'],
    ['a source', { sources: ['web'] }, 'leads_by_source'],
    ['a least score', { minScore: 70 }, 'leads_by_time'],
    ['an owner', { owners: ['ann@acme.com'] }, 'leads_by_owner'],
    ['a tag', { tag: 'vip' }, 'PRIMARY KEY'],
    ['a tag and a stage', { tag: 'vip', stages: ['new'] }, 'PRIMARY KEY'],
  ])('for %s', (_, query, index) => {
    for (const sort of ['-created_at', 'created_at'] as const) {
      for (const after of [null, POSITION[sort]]) {
        const plan = planOf({ ...query, sort, after });
        expect(plan).toContain(`${index === 'PRIMARY KEY' ? 'USING ' : 'INDEX '}${index}`);
        expect(plan).not.toContain('TEMP B-TREE');
      }
    }
  });

  test('in order of score, with any filter other than the domain', () => {
    const query: Partial<LeadQuery> = {
      stages: ['new'],
      classifications: ['hot'],
      sources: ['web'],
      minScore: 5,
      tag: 'vip',
      sort: '-icp_score',
    };
    for (const after of [null, POSITION['-icp_score']]) {
      const plan = planOf({ ...query, after });
      expect(plan).toContain('COVERING INDEX leads_by_score');
      expect(plan).not.toContain('TEMP B-TREE');
    }
  });

  test('a domain, a word and an address use their own index', () => {
    expect(planOfFew({ companyDomains: ['acme.com'] })).toContain('leads_by_domain');
    expect(planOfFew({ q: 'jane' })).toContain(
      'SEARCH lead_words USING PRIMARY KEY (tenant_id=? AND word>? AND word<?)',
    );
    expect(planOfFew({ identity: 'email:a@acme.com' })).toContain('SEARCH lead_identities USING PRIMARY KEY');
    expect(planOfFew({ q: 'jane', owners: ['a'] })).toContain(
      'SEARCH l USING INDEX sqlite_autoindex_leads_1',
    );
  });

  test('few of many leads are searched in parts of a bounded size', async () => {
    const db = openDatabase(':memory:');
    migrate(db);
    const runner = createRunner(db);
    runner.createTenant(aTenant('ten_a'));
    for (let n = 0; n < 1_200; n++)
      runner.commitLead(aNewLead('ten_a', aLead(`led_${n}`, { name: n % 2 === 0 ? 'Ann' : 'Zoe' })));
    const parts: unknown[] = [];
    const clock = { ...systemClock, monotonic: () => parts.length * 10 };
    const { listLeads } = leadPageFace(db, clock, async (query) => {
      const part = query();
      parts.push(part);
      return part;
    });
    expect((await listLeads('ten_a', { ...ANY, q: 'ann zoe' })).rows).toEqual([]);
    expect(parts.length).toBeGreaterThan(3);
    db.close();
  });

  test('few leads are checked for many words in parts of a bounded size, in order', async () => {
    const db = openDatabase(':memory:');
    migrate(db);
    const runner = createRunner(db);
    runner.createTenant(aTenant('ten_a'));
    const words = Array.from({ length: 60 }, (_, n) => `word${n}x`);
    for (let n = 0; n < 45; n++) {
      const rest = n % 2 === 0 ? words : words.slice(1);
      runner.commitLead(aNewLead('ten_a', aLead(`led_${10 + n}`, { name: rest.join(' ') })));
    }
    const parts: unknown[] = [];
    const clock = { ...systemClock, monotonic: () => parts.length * 10 };
    const { listLeads } = leadPageFace(db, clock, async (query) => {
      const part = query();
      parts.push(part);
      return part;
    });
    const query: LeadQuery = { ...ANY, q: words.join(' '), sort: 'created_at', limit: 15 };
    const idsOf = ({ rows }: { rows: Buffer[] }) => rows.map((row) => parseBytes<Lead>(row).id);
    const page = await listLeads('ten_a', query);
    expect(idsOf(page)).toEqual(Array.from({ length: 15 }, (_, n) => `led_${10 + 2 * n}`));
    expect(parts.length).toBeGreaterThan(5);
    const next = await listLeads('ten_a', { ...query, after: page.last });
    expect(idsOf(next)).toEqual(Array.from({ length: 8 }, (_, n) => `led_${40 + 2 * n}`));
    expect(next.last).toBeNull();
    db.close();
  });

  test('long leads are read a few at a time, whether they were scanned or sorted', async () => {
    const db = openDatabase(':memory:');
    migrate(db);
    const runner = createRunner(db);
    runner.createTenant(aTenant('ten_a'));
    const ids = Array.from({ length: 30 }, (_, n) => `led_${10 + n}`);
    const long = { tags: ['vip'], notes: 'x'.repeat(40_000) };
    for (const id of ids) runner.commitLead(aNewLead('ten_a', aLead(id, long)));
    let parts = 0;
    const { listLeads } = leadPageFace(db, systemClock, async (query) => {
      parts++;
      return query();
    });
    for (const filter of [{}, { tag: 'vip' }]) {
      const query: LeadQuery = { ...ANY, ...filter, sort: 'created_at' };
      const { rows, last } = await listLeads('ten_a', query);
      expect(rows.map((row) => parseBytes<Lead>(row).id)).toEqual(ids.slice(0, 25));
      const rest = await listLeads('ten_a', { ...query, after: last });
      expect(rest.rows.map((row) => parseBytes<Lead>(row).id)).toEqual(ids.slice(25));
      expect(rest.last).toBeNull();
    }
    // Of each page of 25 and of 5: what is found first, and then three leads at a time.
    expect(parts).toBeGreaterThanOrEqual(2 * (9 + 2 + 4));
    db.close();
  });

  test('a lead that is erased while a page is read is left out', async () => {
    const db = openDatabase(':memory:');
    migrate(db);
    const runner = createRunner(db);
    runner.createTenant(aTenant('ten_a'));
    for (const id of ['led_1', 'led_2']) runner.commitLead(aNewLead('ten_a', aLead(id)));
    let reads = 0;
    const { listLeads } = leadPageFace(db, systemClock, async (query) => {
      const part = query();
      if (++reads === 2) db.exec("PRAGMA foreign_keys = OFF; DELETE FROM leads WHERE id = 'led_1'");
      return part;
    });
    const { rows } = await listLeads('ten_a', ANY);
    expect(rows.map((row) => parseBytes<Lead>(row).id)).toEqual(['led_2']);
    db.close();
  });
});

test.each([
  [
    'events of a subject',
    'SELECT id FROM events WHERE subject_id IN (SELECT value FROM json_each(?))',
    'events_by_subject',
  ],
  [
    'a stretch of events',
    'SELECT id FROM events WHERE tenant_id = ? AND (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?',
    'events_by_time',
  ],
  [
    'signals of a person',
    'SELECT signal_id FROM signal_people WHERE tenant_id = ? AND key IN (SELECT value FROM json_each(?))',
    'PRIMARY KEY',
  ],
])('finds %s by an index', (_, sql, index) => {
  const db = openDatabase(':memory:');
  migrate(db);
  const values = Array.from(sql.matchAll(/\?/g), () => '1');
  const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
  db.close();
  const plan = steps.map((step) => step.detail).join('; ');
  expect(plan).toContain(index);
  expect(plan).not.toContain('TEMP B-TREE');
});
