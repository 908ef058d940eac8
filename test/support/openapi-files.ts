import { buildTestApp } from './app.ts';

/** Where each description is kept in the repository, and where the server has it. */
export const OPENAPI_FILES = [
  { file: 'openapi/public.json', path: '/openapi.json' },
  { file: 'openapi/v1.json', path: '/v1/openapi.json' },
] as const;

/** The kept descriptions are those of a server with no settings. */
export const OPENAPI_BASE_URL = 'http://localhost:3000';

/** What the server serves at `path`, as it is kept: changes are to be read line by line, examples are none of the API's. */
export async function servedOpenApi(path: string): Promise<string> {
  const { app } = await buildTestApp({ env: { BASE_URL: OPENAPI_BASE_URL } });
  try {
    const answer = await app.inject(path);
    return `${JSON.stringify(answer.json(), withoutExamples, 2)}\n`;
  } finally {
    await app.close();
  }
}

function withoutExamples(this: object, key: string, value: unknown): unknown {
  // Beside a schema they are examples; as a name within `properties` they would be a member of a body.
  const isExample = (key === 'example' || key === 'examples') && 'schema' in this;
  return isExample ? undefined : value;
}
