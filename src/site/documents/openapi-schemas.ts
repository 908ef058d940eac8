import { z } from 'zod';
import {
  endpointInfoSchema,
  healthResponseSchema,
  publicProblemSchema,
  statusDataSchema,
  statusResponseSchema,
} from '../../model/public-api.ts';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

const NAMED: readonly [string, z.ZodType][] = [
  ['HealthResponse', healthResponseSchema],
  ['StatusResponse', statusResponseSchema],
  ['StatusData', statusDataSchema],
  ['EndpointInfo', endpointInfoSchema],
  ['Problem', publicProblemSchema],
];

/** The component schemas of the public OpenAPI document, and the name of each zod schema among them. */
export interface SchemaComponents {
  schemas: Record<string, JsonSchema>;
  refOf(schema: z.ZodType): { $ref: string };
}

/** Turns the very schemas that the routes have into OpenAPI 3.0 component schemas that refer to each other. */
export function createSchemaComponents(): SchemaComponents {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of NAMED) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    target: 'openapi-3.0',
    // Answers may gain members within v1; as output, zod would forbid them.
    io: 'input',
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => tidy(jsonSchema),
  });
  return {
    schemas: Object.fromEntries(Object.entries(schemas).map(([id, { $id: _, ...schema }]) => [id, schema])),
    refOf(schema) {
      const id = registry.get(schema)?.id;
      if (id === undefined) throw new Error('an operation answers with a schema that has no name here');
      return { $ref: `#/components/schemas/${id}` };
    },
  };
}

/** A format says what zod's pattern of 200 characters says; the bounds of safe integers say nothing. */
function tidy(schema: JsonSchema): void {
  if (schema.format !== undefined) delete schema.pattern;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}
