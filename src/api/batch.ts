import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { check, MAX_FAULTS } from '../http/faults.ts';
import { findBadText } from '../http/json-body.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import { commaSeparated } from '../lib/json.ts';
import { concatInTurns, createYielder } from '../lib/yielding.ts';
import type { Fault } from '../model/errors.ts';
import type { Call, NamesIn, NoQuery, OperationInfo, Routes } from './routes.ts';

/** Maximum size of the body of a batch. */
const BATCH_BODY_BYTES = 5 * 1024 * 1024;

/**
 * Body of a batch: `{name: [item, …]}`. Items are documented by `item`, whose schema needs an id, but validated one by one, so
 * that an invalid one does not affect the others.
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

/** The counts of a batch, with the status that each counts: `{ duplicates: 'duplicate' }`. */
type CountNames = Record<string, string>;

/** The result of an item, with the `own` members of its kind. */
function resultSchema<C extends CountNames, O extends z.ZodRawShape>(counts: C, own: O) {
  const statuses = Object.values(counts) as [C[keyof C], ...C[keyof C][]];
  return z.strictObject({
    index: z.int().describe('Index of the item in the request, from 0.'),
    status: z.enum(statuses).describe('Result of the item.'),
    ...own,
    errors: z.array(faultSchema).max(MAX_FAULTS).describe('Errors of a rejected item; otherwise empty.'),
    errors_total: z.int().optional().describe('Total number of errors, if `errors` does not list them all.'),
  });
}

/** The response of a batch: a result for each item, and counts. */
function batchAnswer<C extends CountNames>(counts: C, result: z.ZodType) {
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

/** The result of a valid item: its own members, or why it was rejected after all. */
export type ItemOutcome<T> = T | { faults: readonly Fault[] };

/** An item of a batch that is processed later: the parsed item, or why it is rejected. */
export type LaterItem<I> = { input: I } | { rejected: ReturnType<typeof shownErrors> };

/** A batch of `item`; `T` are the own members of a result, with `rejected` among its statuses. */
export interface Batch<
  Name extends string,
  C extends CountNames,
  S extends z.ZodType,
  T extends { status: string },
> extends OperationInfo {
  /** The member of the body that contains the items. */
  name: string;
  item: S;
  maxItems: number;
  counts: C;
  /** The members of `T` other than the status. */
  own: z.ZodRawShape;
  /** The own members of a rejected item. */
  none: T;
  /**
   * Accepts a batch for processing after the response, if the request prefers that (RFC 7240, `respond-async`), and returns the
   * job, which is available at `/jobs/{id}`. Omitted: not supported.
   */
  later?: {
    answer: z.ZodType<{ id: string }>;
    run(call: Call<Name, NoQuery, z.ZodType>, items: LaterItem<z.output<S>>[]): Promise<{ id: string }>;
  };
  /** Processes the valid items together; returns a result for each, in order. */
  run(
    call: Call<Name, NoQuery, z.ZodType>,
    inputs: z.output<S>[],
  ): Promise<readonly ItemOutcome<NoInfer<T>>[]>;
}

/** Adds a POST of many items, each of which is accepted or rejected separately. */
export function addBatch<
  Path extends string,
  C extends CountNames,
  S extends z.ZodType,
  T extends { status: string },
>(routes: Routes, path: Path, batch: Batch<NamesIn<Path>, C, S, T>): void {
  const { name, item, maxItems, counts, own, none, run, later, ...told } = batch;
  const schema = resultSchema(counts, own);
  routes.add(`POST ${path}`, {
    ...told,
    bodyLimit: BATCH_BODY_BYTES,
    config: { itemwise: true, batchOf: name },
    body: batchBody(name, item, maxItems),
    response: {
      200: batchAnswer(counts, schema),
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
      const tally = new Map<string, number>();
      // One by one: the errors of a thousand items are 6 MB, which took 0.2 s at once.
      const rows: Buffer[] = [];
      for (const [index, one] of checked.entries()) {
        await nextTurn();
        const outcome: ItemOutcome<T> | undefined = one.ok ? outcomes.next().value : one;
        if (outcome === undefined) throw new Error('the batch returned fewer outcomes than it has items');
        const result =
          'faults' in outcome
            ? { index, ...none, ...shownErrors(`/${name}/${index}`, outcome) }
            : { index, ...outcome, errors: [] };
        tally.set(result.status, (tally.get(result.status) ?? 0) + 1);
        rows.push(Buffer.from(JSON.stringify(z.encode(schema, result as z.output<typeof schema>))));
      }
      const numbers = Object.entries(counts).map(([count, status]) => [count, tally.get(status) ?? 0]);
      const tail = JSON.stringify(Object.fromEntries(numbers)).slice(1);
      const pieces = [
        Buffer.from('{"data":{"results":['),
        ...commaSeparated(rows),
        Buffer.from(`],${tail}}`),
      ];
      return sendAsIs(call.reply, JSON_TYPE, await concatInTurns(pieces, call.deps.clock));
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
