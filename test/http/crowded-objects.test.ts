import { expect, test } from 'vitest';
import { z } from 'zod';
import { check, LEFT_OUT, thinOut } from '../../src/http/faults.ts';
import { measureJson } from '../../src/lib/json.ts';

const thin = (text: string, known: string[] = []) =>
  JSON.parse(thinOut(text, measureJson(text, 32).members, new Set(known)));
const many = (count: number, value = '1') =>
  Array.from({ length: count }, (_, n) => `"m${n}":${value}`).join(',');

test('an object with too many members keeps the first and the known ones, and the rest are counted', () => {
  const value = '{"a":[1,"}",{"b":"\\\\\\""}],"c":"x,\\"y"}';
  const body = thin(`{${many(30_000, value)},"text":"kept","z":1}`, ['text', 'm29999']);
  expect(body.m999).toEqual(JSON.parse(value));
  expect([body.m1000, body.z]).toEqual([undefined, undefined]);
  expect([body.text, body.m29999]).toEqual(['kept', JSON.parse(value)]);
  // All pieces that were left out share one member with their count, because names in an object are unique.
  expect(Object.keys(body)).toHaveLength(1_000 + 2 + 1);
});

test('objects within lists are thinned out separately, and small objects are kept as they are', () => {
  const body = thin(`{"items":[{${many(25_000)}},{"a":1}, {${many(1_500)}} ],"b":2}`, ['items']);
  expect(body.items.map((item: object) => Object.keys(item).length)).toEqual([1_001, 1, 1_001]);
  expect([body.items[0][LEFT_OUT], body.items[2][LEFT_OUT], body.b]).toEqual([24_000, 500, 2]);
  const few = `{${many(500)}}`;
  expect(thinOut(few, 500, new Set())).toBe(few);
});

test('all of 450,000 unknown members are counted, and the first 20 are reported', () => {
  const schema = z.strictObject({ text: z.string() });
  const text = `{${many(449_999)},"text":"a","last":1}`;
  const checked = check(schema, thin(text, ['text']), 'body');
  expect(checked).toMatchObject({ ok: false, total: 450_000 });
  expect(checked.ok ? [] : checked.faults).toHaveLength(20);
});

test('input that ends inside a string or an object terminates', () => {
  for (const end of ['', '"', '"abc', '"abc\\"', '{', '[', '}}}', ']]', ',,,']) {
    const text = `{${many(25_000)},${end}`;
    expect(thinOut(text, 25_000, new Set()).length).toBeLessThan(text.length + 100);
  }
});

test('a text is not read to its end once it has too many values', () => {
  const { values } = measureJson(`[${'1,'.repeat(1_000)}1]`, 32, 100);
  expect(values).toBeGreaterThan(100);
  expect(values).toBeLessThan(105);
});
