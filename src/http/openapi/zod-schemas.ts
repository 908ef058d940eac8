import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

/**
 * In place of the type provider's own, which drops from a union every branch that is still empty at that moment: a
 * branch that trims or converts is filled in later, and would be missing from the description. What it does for an
 * answer without a body is done here too.
 */
const override: Override = ({ zodSchema, jsonSchema }) => {
  if (zodSchema instanceof z.ZodUndefined) jsonSchema.type = 'null';
};

const settings = { zodToJsonConfig: { override } };

/** A route's zod schemas as JSON Schema. */
export const transformRoute: ReturnType<typeof createJsonSchemaTransform> =
  createJsonSchemaTransform(settings);

/** The schemas with an id as components of the document. */
export const transformDocument = createJsonSchemaTransformObject(settings);
