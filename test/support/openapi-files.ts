import { buildTestApp } from './app.ts';

/** The file of each description in the repository, and its path on the server. */
export const OPENAPI_FILES = [
  { file: 'openapi/public.json', path: '/openapi.json' },
  { file: 'openapi/v1.json', path: '/v1/openapi.json' },
] as const;

/** The stored descriptions are those of a server with default settings. */
export const OPENAPI_BASE_URL = 'http://localhost:3000';

/**
 * The document at `path` in its stored form: formatted for line-by-line diffs, without examples, which are not part
 * of the API.
 */
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
  // Next to a schema they are examples; within `properties`, they would be members of a body.
  const isExample = (key === 'example' || key === 'examples') && 'schema' in this;
  return isExample ? undefined : value;
}
