import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { check, MAX_FAULTS } from '../http/faults.ts';
import { findBadText } from '../http/json-body.ts';
import { createYielder } from '../lib/yielding.ts';
import type { Fault } from '../model/errors.ts';
import type { Call, NamesIn, NoQuery, OperationInfo, Routes } from './routes.ts';

/** The largest body that a batch may have. */
const BATCH_BODY_BYTES = 5 * 1024 * 1024;

/**
 * Body of a batch: `{name: [item, …]}`. Its items are described by `item`, which has to have an id, and not held to it:
 * each is checked by itself, so that a bad one does not spoil the rest.
 */
function batchBody<N extends string>(name: N, item: z.ZodType, maxItems: number) {
  const { id } = z.globalRegistry.get(item) ?? {};
  if (id === undefined) throw new Error(`the items of "${name}" have no id to be described by`);
  const items = z
    .array(z.unknown().meta({ $ref: `#/components/schemas/${id}Input` }))
    .min(1)
    .max(maxItems)
    .describe('The items. Each is validated on its own: an invalid item does not affect the others.');
  return z.strictObject({ [name]: items } as Record<N, typeof items>);
}

const faultSchema = z.strictObject({
  pointer: z.string().describe('JSON Pointer (RFC 6901) into the request body.'),
  detail: z.string().describe('Description of the error.'),
});

/** How many items came to what, by name of the count: `{ duplicates: 'duplicate' }`. */
type Counts = Record<string, string>;

/** Answer of a batch: a result for each item with `own` members of its kind, and what they came to. */
function batchAnswer<C extends Counts, O extends z.ZodRawShape>(counts: C, own: O) {
  const statuses = Object.values(counts) as [C[keyof C], ...C[keyof C][]];
  const result = z.strictObject({
    index: z.int().describe('Index of the item in the request, from 0.'),
    status: z.enum(statuses).describe('Result of the item.'),
    ...own,
    errors: z.array(faultSchema).max(MAX_FAULTS).describe('Errors of a rejected item; otherwise empty.'),
    errors_total: z.int().optional().describe('Total number of errors, if `errors` does not list them all.'),
  });
  const numbers = Object.fromEntries(
    Object.entries(counts).map(([name, status]) => [
      name,
      z.int().describe(`Number of items with the status \`${status}\`.`),
    ]),
  ) as Record<keyof C, z.ZodInt>;
  const results = z.array(result).describe('Results of the items, in the order of the request.');
  return z.strictObject({
    data: z.strictObject({ results, ...numbers }).describe('Results of the batch.'),
  });
}

/** What became of an item that could be read: its own members, or why it was rejected after all. */
export type ItemOutcome<T> = T | { faults: readonly Fault[] };

/** An item of a batch that is done later: what was read, or why it is rejected. */
export type LaterItem<I> = { input: I } | { rejected: ReturnType<typeof shownErrors> };

/** A batch of what `item` describes; `T` is a result's own members, with `rejected` among its statuses. */
export interface Batch<
  Name extends string,
  C extends Counts,
  S extends z.ZodType,
  T extends { status: string },
> extends OperationInfo {
  /** The member of the body that holds the items. */
  name: string;
  item: S;
  maxItems: number;
  counts: C;
  /** What `T` has besides the status. */
  own: z.ZodRawShape;
  /** A rejected item's own members. */
  none: T;
  /**
   * Takes a batch on, to be done after the answer, where the request prefers that (RFC 7240, `respond-async`): the job's
   * representation, which is at `/jobs/{id}`. Left out: it cannot be.
   */
  later?: {
    answer: z.ZodType<{ id: string }>;
    run(call: Call<Name, NoQuery, z.ZodType>, items: LaterItem<z.output<S>>[]): Promise<{ id: string }>;
  };
  /** Takes the items that can be read, all at once; answers an outcome for each, in their order. */
  run(
    call: Call<Name, NoQuery, z.ZodType>,
    inputs: z.output<S>[],
  ): Promise<readonly ItemOutcome<NoInfer<T>>[]>;
}

/** Adds a POST of many items, of which each is taken or rejected by itself. */
export function addBatch<
  Path extends string,
  C extends Counts,
  S extends z.ZodType,
  T extends { status: string },
>(routes: Routes, path: Path, batch: Batch<NamesIn<Path>, C, S, T>): void {
  const { name, item, maxItems, counts, own, none, run, later, ...told } = batch;
  routes.add(`POST ${path}`, {
    ...told,
    bodyLimit: BATCH_BODY_BYTES,
    config: { itemwise: true, batchOf: name },
    body: batchBody(name, item, maxItems),
    response: {
      200: batchAnswer(counts, own),
      ...(later && {
        202: z
          .strictObject({ data: later.answer })
          .describe(
            'Accepted: the batch is processed in the background. Poll the job for its progress and results.',
          ),
      }),
    },
    async answer(call) {
      const nextTurn = createYielder(call.deps.clock);
      const checked: ReturnType<typeof checkItem<S>>[] = [];
      for (const one of call.body[name] ?? []) {
        checked.push(checkItem(item, one));
        await nextTurn();
      }
      if (later !== undefined && prefersLater(call.request)) {
        const items = checked.map(
          (one, index): LaterItem<z.output<S>> =>
            one.ok ? { input: one.value } : { rejected: shownErrors(`/${name}/${index}`, one) },
        );
        const job = await later.run(call, items);
        call.reply.code(202).header('preference-applied', 'respond-async');
        call.reply.header('location', `${call.deps.baseUrl}/v1/jobs/${job.id}`);
        return { data: job };
      }
      const inputs = checked.flatMap((one) => (one.ok ? [one.value] : []));
      const outcomes = (await run(call, inputs)).values();
      const results = checked.map((one, index) => {
        const outcome: ItemOutcome<T> | undefined = one.ok ? outcomes.next().value : one;
        if (outcome === undefined) throw new Error('a batch came to fewer outcomes than it has items');
        if (!('faults' in outcome)) return { index, ...outcome, errors: [] };
        return { index, ...none, ...shownErrors(`/${name}/${index}`, outcome) };
      });
      const numbers = Object.entries(counts).map(([count, status]) => [
        count,
        results.filter((result) => result.status === status).length,
      ]);
      return { data: { results, ...Object.fromEntries(numbers) } };
    },
  });
}

/** RFC 7240, section 4.1. */
function prefersLater({ headers }: FastifyRequest): boolean {
  const preferences = [headers.prefer ?? []].flat().join(',').split(',');
  return preferences.some((each) => each.split(';')[0]?.trim().toLowerCase() === 'respond-async');
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
