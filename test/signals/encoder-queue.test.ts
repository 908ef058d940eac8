import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createEncoderQueue, type WorkKind } from '../../src/signals/encoder/encoder-queue.ts';

/** A queue with a stopped clock, and the texts taken from it. */
function aQueue(costOf = (_text: string) => 1) {
  let now = 0;
  const queue = createEncoderQueue<string>(() => now, costOf);
  const begin = (owner: string, kind: WorkKind, texts: string[] = []) => {
    const work = queue.begin({ owner, kind });
    for (const text of texts) work.push(text);
    return work;
  };
  const takeAll = (msEach = 10) => {
    const taken: string[] = [];
    for (let text = queue.take(); text !== undefined; text = queue.take()) {
      now += msEach;
      queue.finish();
      taken.push(text);
    }
    return taken;
  };
  return { queue, begin, takeAll };
}

const many = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}${i}`);

test('tenants take turns, and the work of one tenant is finished in order', () => {
  const { begin, takeAll } = aQueue();
  begin('a', 'batch', ['a1', 'a2']);
  begin('a', 'batch', ['later']);
  begin('b', 'batch', ['b1', 'b2']);
  expect(takeAll()).toEqual(['a1', 'b1', 'a2', 'b2', 'later']);
});

test('tenants have equal shares of the time, however long their texts are', () => {
  const { begin, takeAll } = aQueue((text) => (text.startsWith('long') ? 40 : 10));
  begin('a', 'batch', many('long', 100));
  begin('b', 'batch', many('short', 20));
  const taken = takeAll();
  const before = taken.slice(0, taken.lastIndexOf('short19')).filter((text) => text.startsWith('long'));
  expect(before.length).toBeGreaterThanOrEqual(4);
  expect(before.length).toBeLessThanOrEqual(6);
});

test('a tenant that asks for one text after the other has no more than its share', () => {
  const { queue, begin } = aQueue();
  begin('a', 'batch', many('a', 100));
  const taken: string[] = [];
  for (let n = 0; n < 20; n++) {
    if (taken.at(-1)?.startsWith('b') !== false) begin('b', 'batch', [`b${n}`]);
    taken.push(queue.take() ?? '');
    queue.finish();
  }
  expect(taken.filter((text) => text.startsWith('b')).length).toBeLessThanOrEqual(11);
});

test('a tenant that has used less than its share goes first, up to 20,000 units of cost', () => {
  const { queue, begin, takeAll } = aQueue(() => 1_000);
  begin('a', 'batch', many('a', 200));
  for (let n = 0; n < 50; n++) {
    queue.take();
    queue.finish();
  }
  begin('b', 'batch', many('b', 40));
  const order = takeAll();
  expect(order.slice(0, 20)).toEqual(many('b', 20));
  const rest = order.slice(20, 60);
  expect(rest.filter((text) => text.startsWith('a'))).toHaveLength(20);
  expect(rest.filter((text) => text.startsWith('b'))).toHaveLength(20);
});

test('what a tenant has used ahead of its share does not come back by pausing', () => {
  const { queue, begin } = aQueue(() => 1_000);
  begin('a', 'batch', many('a', 500));
  const taken: string[] = [];
  for (let n = 0; n < 300; n++) {
    // From the fiftieth text on, three texts after its last one.
    if (n >= 50 && taken.slice(-3).every((text) => text.startsWith('a'))) begin('b', 'batch', many('b', 9));
    taken.push(queue.take() ?? '');
    queue.finish();
  }
  expect(taken.filter((text) => text.startsWith('b')).length).toBeLessThanOrEqual(125 + 20);
});

test('a single post is next, however many texts of batches are waiting', () => {
  const { queue, begin, takeAll } = aQueue();
  begin('a', 'batch', many('a', 100));
  for (let i = 0; i < 10; i++) {
    queue.take();
    queue.finish();
  }
  begin('b', 'single', ['single']);
  expect(takeAll().indexOf('single')).toBe(0);
});

test('batches and sources progress while single posts keep arriving', () => {
  const { begin, takeAll } = aQueue();
  begin('a', 'batch', many('batch', 100));
  begin('a', 'source', many('source', 100));
  begin('b', 'single', many('single', 200));
  const first = takeAll().slice(0, 120);
  const count = (kind: string) => first.filter((text) => text.startsWith(kind)).length;
  expect(count('single')).toBe(80);
  expect(count('batch')).toBe(30);
  expect(count('source')).toBe(10);
});

test('unused shares of a kind are not made up for later', () => {
  const { begin, takeAll } = aQueue();
  begin('a', 'batch', many('a', 100));
  takeAll();
  begin('a', 'single', many('single', 50));
  begin('a', 'batch', many('batch', 50));
  expect(
    takeAll()
      .slice(0, 11)
      .filter((text) => text.startsWith('batch')).length,
  ).toBeLessThan(4);
});

test('work is rejected by its expected wait, which depends on the measured time per text', () => {
  const { begin, takeAll } = aQueue();
  begin('a', 'batch', many('warm', 500));
  takeAll(100); // 100 ms per text from now on
  begin('a', 'batch').expect(90);
  const inTime = begin('b', 'batch');
  expect(inTime.expect(1_000)).toBeNull();
  inTime.end();
  begin('a', 'batch').expect(90);
  // 180 texts of the other tenant come first.
  expect(begin('b', 'batch').expect(1_000)?.excessMs).toBeCloseTo(8_000, -2);
  // Short work is done soon: the tenants take turns.
  expect(begin('b', 'batch').expect(20)).toBeNull();
});

test('work without texts is always accepted, and accepted work may grow', () => {
  const { begin } = aQueue();
  begin('a', 'batch').expect(10_000);
  const other = begin('a', 'batch');
  expect(other.expect(0)).toBeNull();
  expect(other.expect(1_000)).toBeNull();
});

test('sources wait as long as necessary', () => {
  const { begin } = aQueue();
  begin('a', 'source').expect(100_000);
  expect(begin('a', 'source').expect(100_000)).toBeNull();
});

test('ended work no longer counts, but its texts are still encoded', () => {
  const { begin, takeAll } = aQueue();
  const work = begin('a', 'batch', ['left']);
  work.expect(5_000);
  work.end();
  expect(begin('a', 'batch').expect(100)).toBeNull();
  expect(takeAll()).toEqual(['left']);
});

test('a text that several works wait for is taken once, in the first turn of any of them', () => {
  const { queue, begin, takeAll } = aQueue();
  begin('a', 'batch', ['a1', 'a2', 'a3', 'shared']);
  begin('b', 'batch', ['shared', 'b1']);
  begin('c', 'single', ['a3']);
  expect(queue.figures.waiting).toBe(5);
  expect(takeAll()).toEqual(['a3', 'a1', 'shared', 'a2', 'b1']);
  expect(queue.figures.waiting).toBe(0);
});

test('every text is taken exactly once, whatever is begun, ended and taken in between', () => {
  const kinds = ['single', 'batch', 'source'] as const;
  const act = fc.oneof(
    fc.record({
      act: fc.constant('begin' as const),
      owner: fc.constantFrom('a', 'b', 'c'),
      kind: fc.constantFrom(...kinds),
      texts: fc.nat(5),
    }),
    fc.record({ act: fc.constant('end' as const), which: fc.nat(20) }),
    fc.record({ act: fc.constant('take' as const) }),
  );
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const { queue, begin, takeAll } = aQueue();
      const works: ReturnType<typeof begin>[] = [];
      const out: string[] = [];
      let made = 0;
      for (const each of acts) {
        if (each.act === 'begin') {
          works.push(begin(each.owner, each.kind, many(`${works.length}-`, each.texts)));
          made += each.texts;
        } else if (each.act === 'end') works[each.which]?.end();
        else {
          const text = queue.take();
          if (text !== undefined) {
            out.push(text);
            queue.finish();
          }
        }
      }
      expect(queue.figures.waiting).toBe(made - out.length);
      out.push(...takeAll());
      expect(new Set(out).size).toBe(made);
      expect(out).toHaveLength(made);
      expect(queue.figures.waiting).toBe(0);
    }),
  );
});
