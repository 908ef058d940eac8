import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { type Description, type Operation, readDescription, resolve } from '../support/openapi.ts';

let t: TestApp;
let description: Description;
beforeAll(async () => {
  t = await buildTestApp();
  description = await readDescription(t.app);
});
afterAll(() => t.app.close());

interface Fault {
  pointer?: string;
  parameter?: string;
  detail: string;
}

/** A typical typo: the last two characters of a name, swapped. */
function mistype(name: string): string {
  return name.slice(0, -2) + [...name.slice(-2)].reverse().join('');
}

/** The longest of the names whose last two characters differ, because short ones are too ambiguous. */
function longest(names: string[]): string | undefined {
  return names.filter((name) => mistype(name) !== name).sort((a, b) => b.length - a.length)[0];
}

async function faultsOf(
  { method, path }: Operation,
  sent: { query?: string; payload?: object },
): Promise<Fault[]> {
  const url = path.replaceAll(/\{\w+\}/g, 'x') + (sent.query ?? '');
  const body = sent.payload === undefined ? {} : { payload: sent.payload };
  const answer = await t.app.inject({ method: method as 'GET', url, headers: t.auth, ...body });
  return answer.json().errors ?? [];
}

test('a mistyped body member is rejected with a suggestion', async () => {
  const silent: string[] = [];
  let asked = 0;
  for (const operation of description.operations) {
    const { properties = {} } = resolve<{ properties?: object }>(
      description.document,
      operation.body?.schema ?? {},
    );
    const name = longest(Object.keys(properties));
    if (name === undefined) continue;
    asked++;
    const typo = mistype(name);
    const faults = await faultsOf(operation, {
      payload: { ...(operation.body?.example as object), [typo]: 1 },
    });
    const named = faults.find(({ pointer }) => pointer === `/${typo}`);
    if (!named?.detail.includes(`Did you mean "${name}"?`)) silent.push(`${operation.operationId}: ${typo}`);
  }
  expect(silent).toEqual([]);
  expect(asked).toBeGreaterThan(10);
});

test('a mistyped query parameter is rejected with a suggestion', async () => {
  const silent: string[] = [];
  let asked = 0;
  for (const operation of description.operations.filter(({ method }) => method === 'GET')) {
    const names = operation.parameters.filter((one) => one.in === 'query').map((one) => one.name);
    const name = longest(names);
    if (name === undefined) continue;
    asked++;
    const typo = mistype(name);
    const faults = await faultsOf(operation, { query: `?${typo}=1` });
    const named = faults.find(({ parameter }) => parameter === typo);
    if (!named?.detail.includes(`Did you mean "${name}"?`)) silent.push(`${operation.operationId}: ${typo}`);
  }
  expect(silent).toEqual([]);
  expect(asked).toBeGreaterThan(5);
});
