import fc from 'fast-check';

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

/** Values that no schema expects. */
const JUNK: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    -0,
    0.1,
    1e308,
    2 ** 53,
    -(2 ** 63),
    '',
    ' ',
    '\u0000',
    '\ud800',
    '\u202e\u200b\ufeff',
    'a\u0301'.repeat(300),
    '👩‍👩‍👧‍👦'.repeat(200),
    'x'.repeat(25_000),
    '__proto__',
    'constructor',
    '%00',
    "'; DROP TABLE leads; --",
    '<script>alert(1)</script>',
    '1e999',
    [],
    {},
  ),
  fc.integer({ min: 1, max: 40 }).map(nested),
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.jsonValue({ maxDepth: 3 }),
);

const NAMES = fc.oneof(
  fc.constantFrom('extra', 'emial', 'Id', 'toString', 'constructor', '', 'a/b~c', '\u0000', '$ref'),
  fc.string({ unit: 'binary', maxLength: 8 }),
);

type Change =
  | { kind: 'replace'; at: number; value: unknown }
  | { kind: 'drop'; at: number }
  | { kind: 'add'; at: number; name: string; value: unknown };

const CHANGES: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('replace' as const), at: fc.nat(30), value: JUNK }),
  fc.record({ kind: fc.constant('drop' as const), at: fc.nat(30) }),
  fc.record({ kind: fc.constant('add' as const), at: fc.nat(30), name: NAMES, value: JUNK }),
);

/** Values of `good`, about half of them with one to three changes. */
export function mutated(good: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(good, fc.oneof(fc.constant([]), fc.array(CHANGES, { minLength: 1, maxLength: 3 })))
    .map(([value, changes]) => changes.reduce<unknown>(apply, structuredClone(value)));
}

/** A position in a value: its parent and its name there. */
interface Place {
  holder: Record<string, unknown> | unknown[];
  name: string;
}

function apply(value: unknown, change: Change): unknown {
  const places = placesIn(value);
  const place = places[change.at % (places.length + 1)];
  if (place === undefined) return change.kind === 'replace' ? change.value : value;
  const held = Reflect.get(place.holder, place.name);
  if (change.kind === 'replace') Reflect.set(place.holder, place.name, change.value);
  else if (change.kind === 'drop') Reflect.deleteProperty(place.holder, place.name);
  else if (typeof held === 'object' && held !== null) addMember(held, change.name, change.value);
  else if (!Array.isArray(place.holder)) addMember(place.holder, change.name, change.value);
  return value;
}

/** Own members only, whatever their names: `__proto__` should be sent, not set. */
function addMember(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Place['holder'];
  return Object.entries(holder).flatMap(([name, item]) => [{ holder, name }, ...placesIn(item)]);
}
