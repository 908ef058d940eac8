import { readFileSync, writeFileSync } from 'node:fs';
import { makeExamples } from './support/api-examples.ts';
import { EXAMPLES_FILE } from './support/api-tour.ts';
import { CLIENT_FILE, clientTypes } from './support/client-types.ts';
import { OPENAPI_FILES, servedOpenApi } from './support/openapi-files.ts';
import { ROUTES_FILE, withRouteTable } from './support/route-table.ts';

// First the examples in the description of /v1: real responses, always the same.
writeFileSync(EXAMPLES_FILE, `${JSON.stringify(await makeExamples(), null, 2)}\n`);
console.log(`${EXAMPLES_FILE} holds the examples.`);

// Keeps the served descriptions in the repository, so that API changes are visible in reviews.
for (const { file, path } of OPENAPI_FILES) {
  writeFileSync(file, await servedOpenApi(path));
  console.log(`${file} holds what ${path} serves.`);
}

writeFileSync(CLIENT_FILE, clientTypes(JSON.parse(await servedOpenApi('/v1/openapi.json'))));
console.log(`${CLIENT_FILE} has the types of the client.`);

const { data } = JSON.parse(await servedOpenApi('/v1/operations'));
writeFileSync(ROUTES_FILE, withRouteTable(readFileSync(ROUTES_FILE, 'utf8'), data));
console.log(`${ROUTES_FILE} has the table of routes.`);
