import fc from 'fast-check';
import { expect, test } from 'vitest';
import { blankLead, type Fact, type Incoming, mergeInto, readFact } from '../../src/leads/facts.ts';
import { addFactsOf } from '../../src/leads/incoming.ts';
import { CLASSIFICATIONS } from '../../src/model/constants.ts';
import { FACT_FIELDS, FACT_SOURCES, type Lead } from '../../src/model/lead.ts';
import { attachSignals } from '../../src/model/lead-score.ts';
import type { Signal } from '../../src/model/signal.ts';
import { factsOf } from '../support/facts-of.ts';

const word = fc.constantFrom('', 'a', 'b', 'B', 'c');
const fact: fc.Arbitrary<Fact> = fc.record({
  field: fc.constantFrom(...FACT_FIELDS),
  value: word,
  source: fc.constantFrom(...FACT_SOURCES),
  confidence: fc.double({ min: 0, max: 1, noNaN: true }),
});
const incoming: fc.Arbitrary<Incoming> = fc.record({
  source: word,
  facts: fc.array(fact, { maxLength: 8 }),
  tags: fc.array(fc.constantFrom('a', 'A', 'b', 'c'), { maxLength: 5 }),
  customFields: fc.dictionary(fc.constantFrom('x', 'y', 'z'), fc.constantFrom(null, 1, 'a', false)),
});
/** A lead as the result of requests. */
const lead = fc
  .array(incoming, { maxLength: 3 })
  .map((requests) => requests.reduce((made, request) => mergeInto(made, request, 1), blankLead('led_1', 0)));

test('a merge never overwrites a fact', () => {
  fc.assert(
    fc.property(lead, incoming, (before, request) => {
      const after = mergeInto(before, request, 2);
      expect(factsOf(after)).toMatchObject(factsOf(before));
      expect(after.provenance).toMatchObject(before.provenance);
      expect(after.custom_fields).toMatchObject(before.custom_fields);
      if (before.source !== '') expect(after.source).toBe(before.source);
      expect(after.tags.slice(0, before.tags.length)).toEqual(before.tags);
      expect(after.stage).toBe(before.stage);
    }),
  );
});

test('from thousands of posts by one person, each fact is taken once, in linear time', () => {
  const company = { name: 'Acme', domain: 'acme.com', industry: '', headcount: '', location: '' };
  const post = (n: number) =>
    ({
      prospect: { name: 'Ann Example', email: 'ann@acme.com', linkedin_url: '', title: `Title ${n}` },
      company: { ...company, location: n === 9_000 ? 'Berlin' : '' },
    }) as Signal;
  const began = performance.now();
  const facts = addFactsOf(
    [],
    Array.from({ length: 10_000 }, (_, n) => post(n)),
  );
  expect(performance.now() - began).toBeLessThan(3_000);
  expect(facts.map(({ field, value }) => [field, value])).toEqual([
    ['name', 'Ann Example'],
    ['email', 'ann@acme.com'],
    ['title', 'Title 0'],
    ['company.name', 'Acme'],
    ['company.domain', 'acme.com'],
    ['company.location', 'Berlin'],
  ]);
});

test('merging the same again changes nothing', () => {
  fc.assert(
    fc.property(lead, incoming, (before, request) => {
      const once = mergeInto(before, request, 2);
      expect(mergeInto(once, request, 3)).toEqual(once);
    }),
  );
});

test('a request fills every empty fact that it states, and each filled fact names its source', () => {
  fc.assert(
    fc.property(lead, incoming, (before, request) => {
      const after = mergeInto(before, request, 2);
      for (const { field, value } of request.facts)
        if (value !== '') expect(readFact(after, field)).not.toBe('');
      for (const field of FACT_FIELDS) {
        expect(after.provenance[field] !== undefined).toBe(readFact(after, field) !== '');
      }
    }),
  );
});

test('tags are merged regardless of case', () => {
  fc.assert(
    fc.property(lead, incoming, (before, request) => {
      const { tags } = mergeInto(before, request, 2);
      const keys = tags.map((tag) => tag.toLowerCase());
      expect(new Set(keys).size).toBe(keys.length);
      const wanted = [...before.tags, ...request.tags].map((tag) => tag.toLowerCase());
      expect(new Set(keys)).toEqual(new Set(wanted));
    }),
  );
});

test('a null custom field has no effect', () => {
  const request = { source: '', facts: [], tags: [], customFields: { a: null, b: 1 } };
  expect(mergeInto(blankLead('led_1', 0), request, 0).custom_fields).toEqual({ b: 1 });
});

test("a lead's score is that of its best signal, in whatever order and batches they arrive", () => {
  const signal = fc.record({
    icp_score: fc.integer({ min: 0, max: 100 }),
    classification: fc.constantFrom(...CLASSIFICATIONS),
    timestamp: fc.constantFrom('2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'),
  }) as fc.Arbitrary<Signal>;
  fc.assert(
    fc.property(fc.array(signal, { minLength: 1 }), fc.nat(), (signals, cut) => {
      const begun: Lead = attachSignals(blankLead('led_1', 0), signals.slice(0, cut % signals.length));
      const attached = attachSignals(begun, signals.slice(cut % signals.length));
      const best = Math.max(...signals.map(({ icp_score }) => icp_score));
      const classes = signals.filter((one) => one.icp_score === best).map((one) => one.classification);
      expect(attached).toMatchObject({
        icp_score: best,
        classification: CLASSIFICATIONS.find((one) => classes.includes(one)),
        signal_count: signals.length,
        last_signal_at: signals
          .map(({ timestamp }) => timestamp)
          .sort()
          .at(-1),
      });
    }),
  );
});
