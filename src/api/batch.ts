import { z } from 'zod';
import { check, MAX_FAULTS } from '../http/faults.ts';
import { findBadText } from '../http/json-body.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../model/errors.ts';
import { createTurns } from '../signals/turns.ts';

/** The largest body that a batch may have. */
export const BATCH_BODY_BYTES = 5 * 1024 * 1024;

/**
 * Body of a batch: `{name: [item, …]}`. Its items are described by `item`, which has to have an id, and not held to it:
 * {@link answerBatch} checks each by itself, so that a bad one does not spoil the rest.
 */
export function batchBody<N extends string>(name: N, item: z.ZodType, maxItems: number) {
  const { id } = z.globalRegistry.get(item) ?? {};
  if (id === undefined) throw new Error(`the items of "${name}" have no id to be described by`);
  const items = z
    .array(z.unknown().meta({ $ref: `#/components/schemas/${id}Input` }))
    .min(1)
    .max(maxItems)
    .describe('Each is checked on its own; a bad one does not spoil the rest');
  return z.strictObject({ [name]: items } as Record<N, typeof items>);
}

const faultSchema = z.strictObject({
  pointer: z.string().describe('JSON pointer (RFC 6901) into the body of the request'),
  detail: z.string().describe('What is wrong, and what to do'),
});

/** How many items came to what, by name of the count: `{ duplicates: 'duplicate' }`. */
type Counts = Record<string, string>;

/** Answer of a batch: a result for each item with `own` members of its kind, and what they came to. */
export function batchAnswer<C extends Counts, O extends z.ZodRawShape>(counts: C, own: O) {
  const statuses = Object.values(counts) as [C[keyof C], ...C[keyof C][]];
  const result = z.strictObject({
    index: z.int().describe('Place of the item in the request'),
    status: z.enum(statuses).describe('What became of it'),
    ...own,
    errors: z.array(faultSchema).max(MAX_FAULTS).describe('Why it was rejected; else empty'),
    errors_total: z.int().optional().describe('How many faults it has, where `errors` holds not all'),
  });
  const numbers = Object.fromEntries(
    Object.entries(counts).map(([name, status]) => [name, z.int().describe(`Items that are \`${status}\``)]),
  ) as Record<keyof C, z.ZodInt>;
  return z.strictObject({
    data: z.strictObject({
      results: z.array(result).describe('In the order of the request'),
      ...numbers,
    }),
  });
}

/** What became of an item that could be read: its own members, or why it was rejected after all. */
export type ItemOutcome<T> = T | { faults: readonly Fault[] };

/** A batch to be run; `T` is a result's own members, with `rejected` among its statuses. */
export interface Batch<C extends Counts, S extends z.ZodType, T extends { status: string }> {
  /** The member of the body that holds the items. */
  name: string;
  items: readonly unknown[];
  clock: Clock;
  schema: S;
  counts: C;
  /** A rejected item's own members. */
  none: T;
  /** Takes the items that can be read, all at once; answers an outcome for each, in their order. */
  run(inputs: z.output<S>[]): Promise<readonly ItemOutcome<T>[]>;
}

/** Checks each item, runs those that can be read, and puts the results together in the order of the request. */
export async function answerBatch<C extends Counts, S extends z.ZodType, T extends { status: string }>(
  batch: Batch<C, S, T>,
) {
  const nextTurn = createTurns(batch.clock);
  const checked: ReturnType<typeof checkItem<S>>[] = [];
  for (const item of batch.items) {
    checked.push(checkItem(batch.schema, item));
    await nextTurn();
  }
  const inputs = checked.flatMap((item) => (item.ok ? [item.value] : []));
  const outcomes = (await batch.run(inputs)).values();
  const results = checked.map((item, index) => {
    const outcome: ItemOutcome<T> | undefined = item.ok ? outcomes.next().value : item;
    if (outcome === undefined) throw new Error('a batch came to fewer outcomes than it has items');
    if (!('faults' in outcome)) return { index, ...outcome, errors: [] };
    return { index, ...batch.none, ...shownErrors(`/${batch.name}/${index}`, outcome) };
  });
  const numbers = Object.entries(batch.counts).map(([name, status]) => [
    name,
    results.filter((result) => result.status === status).length,
  ]);
  return { data: { results, ...(Object.fromEntries(numbers) as Record<keyof C, number>) } };
}

function checkItem<S extends z.ZodType>(schema: S, item: unknown) {
  const badText = findBadText(item);
  return badText === null
    ? check(schema, item, 'body')
    : ({ ok: false, faults: [badText], total: 1 } as const);
}

function shownErrors(
  prefix: string,
  { faults, total = faults.length }: { faults: readonly Fault[]; total?: number },
) {
  const errors = faults
    .slice(0, MAX_FAULTS)
    .map(({ pointer = '', detail }) => ({ pointer: `${prefix}${pointer}`, detail }));
  return { errors, ...(total > errors.length && { errors_total: total }) };
}
