import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { check } from '../../src/http/faults.ts';
import { payloadFormatSchema } from '../../src/model/payload-format.ts';
import { PAYLOAD_FIELDS, shapeOf } from '../../src/model/payload-shape.ts';
import { createPayloads, formattedPayload, signalPayload } from '../../src/webhooks/payload.ts';
import { SAMPLE_SIGNAL } from '../../src/webhooks/test-delivery.ts';

const made = (format: object) =>
  JSON.parse(formattedPayload(SAMPLE_SIGNAL, payloadFormatSchema.parse(format)));

/** The pointer and detail of each error. */
function faultsOf(format: unknown): string[] {
  const checked = check(payloadFormatSchema, format, 'body');
  return checked.ok ? [] : checked.faults.map(({ pointer, detail }) => `${pointer} ${detail}`);
}

describe('the body in a format', () => {
  it('is the standard payload by default', () => {
    expect(formattedPayload(SAMPLE_SIGNAL, null)).toBe(signalPayload(SAMPLE_SIGNAL));
    expect(made({})).toEqual(JSON.parse(signalPayload(SAMPLE_SIGNAL)));
  });

  it('has exactly the fields of the specification', () => {
    expect(Object.keys(made({}))).toEqual([...PAYLOAD_FIELDS]);
  });

  it('contains only the included fields, in the order of the payload', () => {
    expect(Object.keys(made({ include: ['excerpt', 'signal_id', 'excerpt'] }))).toEqual([
      'signal_id',
      'excerpt',
    ]);
  });

  it('omits the excluded fields', () => {
    expect(Object.keys(made({ exclude: ['prospect', 'company'] }))).toEqual(
      PAYLOAD_FIELDS.filter((field) => field !== 'prospect' && field !== 'company'),
    );
  });

  it('joins the names of nested members with _ if flatten is on', () => {
    expect(made({ include: ['prospect', 'platform', 'excerpt'], flatten: true })).toEqual({
      prospect_name: SAMPLE_SIGNAL.prospect.name,
      prospect_title: SAMPLE_SIGNAL.prospect.title,
      prospect_email: SAMPLE_SIGNAL.prospect.email,
      prospect_linkedin_url: SAMPLE_SIGNAL.prospect.linkedin_url,
      platform_name: SAMPLE_SIGNAL.platform.name,
      platform_post_url: SAMPLE_SIGNAL.platform.post_url,
      platform_posted_at: SAMPLE_SIGNAL.platform.posted_at,
      excerpt: SAMPLE_SIGNAL.excerpt,
    });
  });

  it('ends with the custom members, each with its own type', () => {
    const body = made({ include: ['signal_id'], custom: { source: 'signalpost', weight: 1.5, live: true } });
    expect(body).toEqual({ signal_id: 'sig_sample', source: 'signalpost', weight: 1.5, live: true });
  });

  it('may consist only of custom members', () => {
    expect(made({ include: [], custom: { ping: 1 } })).toEqual({ ping: 1 });
  });
});

describe('a format is rejected', () => {
  it.each<[string, object, string]>([
    ['for an unknown field', { include: ['prospect', 'budget'] }, '/include/1 "include" must be one of'],
    ['for the signature as a field', { exclude: ['signature'] }, '/exclude/0 "exclude" must be one of'],
    [
      'for both lists together',
      { include: ['excerpt'], exclude: ['company'] },
      '/exclude "exclude" must not be combined',
    ],
    [
      'for a custom field by a name that is there',
      { custom: { excerpt: 'x' } },
      '/custom/excerpt "excerpt" is a field of the payload',
    ],
    [
      'for a custom field by a flattened name',
      { flatten: true, custom: { prospect_name: 'x' } },
      '/custom/prospect_name "prospect_name" is a field',
    ],
    [
      'for a custom signature',
      { custom: { signature: 'x' } },
      '/custom/signature "signature" is reserved for the signature',
    ],
    ['that includes nothing', { include: [] }, ' The body leaves the payload empty'],
    ['that excludes everything', { exclude: [...PAYLOAD_FIELDS] }, ' The body leaves the payload empty'],
    [
      'for a value of 8,193 characters',
      { custom: { a: 'x'.repeat(8_193) } },
      '/custom/a "a" must have at most 8192 characters',
    ],
    ['for null', { custom: { a: null } }, '/custom/a "a" must be a string, a number, or true or false'],
    ['for an object', { custom: { a: {} } }, '/custom/a "a" must be a string, a number, or true or false'],
    [
      'for a misspelt member',
      { flaten: true },
      '/flaten "flaten" is not a known member. Did you mean "flatten"?',
    ],
  ])('%s', (_, format, fault) => {
    expect(faultsOf(format)[0]).toContain(fault);
  });

  it('for 51 custom members, but not for 50', () => {
    const custom = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`key_${i}`, i]));
    expect(faultsOf({ custom: custom(50) })).toEqual([]);
    expect(faultsOf({ custom: custom(51) })[0]).toContain('/custom "custom" must have at most 50 members');
  });

  it('not for a value of 8,192 characters, which may take several code units each', () => {
    expect(faultsOf({ custom: { a: '😀'.repeat(8_192) } })).toEqual([]);
  });

  it.each<[string, object]>([
    ['excluded', { exclude: ['excerpt'], custom: { excerpt: 'mine' } }],
    ['not included', { include: ['company'], custom: { signal_id: 'mine' } }],
    ['flattened away', { flatten: true, custom: { prospect: 'mine' } }],
    ['excluded and flattened', { flatten: true, exclude: ['prospect'], custom: { prospect_name: 'mine' } }],
  ])('for a custom name of a field that is %s', (_, format) => {
    expect(faultsOf(format)[0]).toContain('is a field of the payload; choose another name');
  });

  it('not for a custom name that exists only in a flattened payload', () => {
    expect(faultsOf({ custom: { prospect_name: 'mine' } })).toEqual([]);
  });
});

test('in any accepted format, the body is not empty and contains all custom members unchanged', () => {
  const fields = fc.uniqueArray(fc.constantFrom(...PAYLOAD_FIELDS));
  const value = fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean());
  const custom = fc.dictionary(
    fc.constantFrom('a', 'b', 'excerpt', 'prospect_name', 'signature', '7'),
    value,
    {
      maxKeys: 3,
    },
  );
  const lists = fc.oneof(fc.record({ include: fields }), fc.record({ exclude: fields }), fc.constant({}));
  const format = fc
    .tuple(lists, fc.boolean(), custom)
    .map(([list, flatten, own]) => ({ ...list, flatten, custom: own }));
  let accepted = 0;
  fc.assert(
    fc.property(format, (input) => {
      const parsed = payloadFormatSchema.safeParse(input);
      if (!parsed.success) return;
      accepted++;
      const body = JSON.parse(formattedPayload(SAMPLE_SIGNAL, parsed.data));
      expect(Object.keys(body).length).toBeGreaterThan(0);
      expect(body).not.toHaveProperty('signature');
      // Converted through JSON, which has no -0.
      expect(body).toMatchObject(JSON.parse(JSON.stringify(input.custom)));
      if (input.flatten) expect(Object.values(body).every((v) => typeof v !== 'object')).toBe(true);
    }),
    { numRuns: 500 },
  );
  expect(accepted).toBeGreaterThan(100);
});

test('formats that differ only in their custom members share one body', () => {
  const bodyOf = createPayloads(SAMPLE_SIGNAL);
  const shape = () => shapeOf({ flatten: true, custom: { a: 1 } });
  expect(bodyOf(null).body).toBe(signalPayload(SAMPLE_SIGNAL));
  expect(bodyOf(shape())).toEqual(bodyOf(shape()));
  expect(bodyOf(shape()).body).not.toBe(bodyOf(null).body);
  const other = bodyOf(shapeOf({ flatten: true, custom: { a: 2 } }));
  expect(other.body).toBe(bodyOf(shape()).body);
  expect([bodyOf(shape()).tail?.text, other.tail?.text]).toEqual(['"a":1}', '"a":2}']);
  expect(bodyOf(shapeOf({ flatten: true, custom: {} })).body).not.toBe(other.body);
  const [sales, support] = ['sales', 'support'].map((topic) => bodyOf(shapeOf({ preset: 'ntfy', topic })));
  expect(support?.body).toBe(sales?.body);
  expect(JSON.parse(`${support?.body}${support?.tail?.text}`)).toMatchObject({
    topic: 'support',
    priority: 4,
  });
});

test('the story of a signal is told once for all services', () => {
  let told = 0;
  const bodyOf = createPayloads(SAMPLE_SIGNAL, () => {
    told++;
    return { headline: 'Which tool?', where: 'r/HVAC on Reddit', reason: 'Asking which tool', acts: [] };
  });
  for (const preset of ['slack', 'teams', 'discord'] as const)
    expect(bodyOf(shapeOf(payloadFormatSchema.parse({ preset }))).body).toContain('Which tool?');
  expect(told).toBe(1);
});

test('custom members come last, even with numeric names, and have the same text in every body', () => {
  const format = { include: ['signal_id'], custom: { b: 'x', 7: 'seven' } } as const;
  const text = formattedPayload(SAMPLE_SIGNAL, payloadFormatSchema.parse(format));
  expect(text).toBe('{"signal_id":"sig_sample","7":"seven","b":"x"}');
});
