import type { Command } from 'commander';
import { z } from 'zod';
import { OPENAPI_PATH } from '../model/public-api.ts';
import type { Ports } from './ports.ts';
import { addPublicCommand, askForJson } from './public-call.ts';

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;
const operationSchema = z.object({ operationId: z.string(), summary: z.string().optional() });
const pathItemSchema = z.object(
  Object.fromEntries(METHODS.map((method) => [method, operationSchema.optional()])),
);

/** What every OpenAPI description has, and what is read of it here. */
const descriptionSchema = z.object({
  openapi: z.string().startsWith('3.'),
  info: z.object({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), pathItemSchema),
});

/** `openapi`: the description of the public API, or the list of its operations. */
export function addOpenApi(parent: Command, ports: Ports): void {
  addPublicCommand(parent, 'openapi', 'OpenAPI description of a running server')
    .option('--operations', 'list the operations only: id, method, path and summary of each')
    .action(async ({ baseUrl, operations }: { baseUrl?: string; operations?: true }) => {
      const { text, value } = await askForJson(ports, { baseUrl, path: OPENAPI_PATH }, descriptionSchema);
      ports.out(operations ? JSON.stringify(listOperations(value), null, 2) : text);
    });
}

function listOperations({ paths }: z.infer<typeof descriptionSchema>) {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      if (operation === undefined) return [];
      const { operationId, summary = '' } = operation;
      return [{ operationId, method: method.toUpperCase(), path, summary }];
    }),
  );
}
