import { writeFileSync } from 'node:fs';
import { OPENAPI_FILES, servedOpenApi } from './support/openapi-files.ts';

// Keeps the descriptions that the server serves in the repository, so that a change of an API is read in its review.
for (const { file, path } of OPENAPI_FILES) {
  writeFileSync(file, await servedOpenApi(path));
  console.log(`${file} holds what ${path} serves.`);
}
