import Fastify from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { describeRoutes } from '../../src/http/openapi/describe-routes.ts';

/** Describes two routes, and records in which turn of the event loop their schemas are read and the description is completed. */
async function describe() {
  let [turn, isOver] = [0, false];
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  const app = Fastify({ exposeHeadRoutes: false });
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  const turns = { read: [] as number[], completed: [] as number[] };
  const description = await describeRoutes(app, {
    head: { openapi: '3.1.0', info: { title: 'Things', version: '1' }, servers: [], tags: [] } as never,
    components: { schemas: {} },
    complete: () => {},
    problemsOf: () => [],
    meanings: {},
    deprecations: [],
    examples() {
      turns.completed.push(turn);
      return { operations: {}, problems: {}, events: {} } as never;
    },
  });
  for (const name of ['one', 'two']) {
    const response = { 200: z.strictObject({ [name]: z.string().describe('A text.') }) };
    const schema = {
      operationId: name,
      get response() {
        turns.read.push(turn);
        return response;
      },
    };
    app.get(`/${name}`, { schema }, async () => ({ [name]: '' }));
  }
  await app.ready();
  turns.read.length = 0;
  count();
  return {
    turns,
    description,
    async [Symbol.asyncDispose]() {
      isOver = true;
      await app.close();
    },
  };
}

test('a prepared description is the same as one generated in one piece', async () => {
  await using prepared = await describe();
  await using whole = await describe();
  await Promise.all([prepared.description.prepare(), prepared.description.prepare()]);
  expect(prepared.description.document()).toEqual(whole.description.document());
  expect(Object.keys(whole.description.document().paths)).toEqual(['/one', '/two']);
  expect(prepared.turns.completed).toHaveLength(1);
});

test('schemas are converted once, and the description is completed in a later turn of the event loop than the first is', async () => {
  await using it = await describe();
  await it.description.prepare();
  expect(it.turns.read).toHaveLength(2);
  // Short steps share a turn: on a busy machine, the second may be in the turn in which the rest is done.
  expect(it.turns.completed[0]).toBeGreaterThan(Math.min(...it.turns.read));
});
