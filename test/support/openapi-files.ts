import { buildTestApp } from './app.ts';

/** Where each description is kept in the repository, and where the server has it. */
export const OPENAPI_FILES = [
  { file: 'openapi/public.json', path: '/openapi.json' },
  { file: 'openapi/v1.json', path: '/v1/openapi.json' },
] as const;

/** The kept descriptions are those of a server with no settings. */
export const OPENAPI_BASE_URL = 'http://localhost:3000';

/** What the server serves at `path`, in the layout in which it is kept: changes are to be read line by line. */
export async function servedOpenApi(path: string): Promise<string> {
  const { app } = await buildTestApp({ env: { BASE_URL: OPENAPI_BASE_URL } });
  try {
    const answer = await app.inject(path);
    return `${JSON.stringify(answer.json(), null, 2)}\n`;
  } finally {
    await app.close();
  }
}
