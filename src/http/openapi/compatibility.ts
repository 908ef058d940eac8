import type { Document, JsonSchema, Operation } from './document-types.ts';

const SCHEMAS = '#/components/schemas/';

/**
 * Makes the document one whose generated clients go on working through compatible changes: answers and webhooks may get
 * new members, so their schemas are open, and what is sent stays closed; bodies are components with names that code can
 * be written with.
 */
export function makeCompatible(document: Document): void {
  const operations = operationsOf(document.paths);
  nameBodies(document, operations);
  const sent = closure(
    document,
    operations.map(({ requestBody }) => requestBody),
  );
  for (const name of sent) makeDefaultsOptional(document.components.schemas?.[name]);
  const received = [...operations.map(({ responses }) => responses), document.webhooks];
  received.forEach(open);
  for (const [name, schema] of Object.entries(document.components.schemas ?? {})) {
    if (!sent.has(name)) open(schema);
  }
  Object.values(document.components.responses ?? {}).forEach(open);
}

function operationsOf(paths: Record<string, Record<string, Operation>>): Operation[] {
  return Object.values(paths).flatMap((item) => Object.values(item));
}

/** Inline bodies would be named by each generator in its own way, such as `CreateWebhookBodyPayloadFormatAnyOf`. */
function nameBodies(document: Document, operations: readonly Operation[]): void {
  const schemas = document.components.schemas ?? {};
  document.components.schemas = schemas;
  for (const { operationId = '', summary, requestBody } of operations) {
    const media = requestBody?.content['application/json'];
    if (media === undefined || '$ref' in media.schema) continue;
    const name = bodyName(operationId);
    if (name in schemas) throw new Error(`${operationId}: there is a component "${name}" already`);
    schemas[name] = { description: `Body of \`${operationId}\`: ${summary}`, ...media.schema };
    media.schema = { $ref: `${SCHEMAS}${name}` };
  }
}

/** `createWebhook` takes a `NewWebhook`, `updateWebhook` a `WebhookUpdate`, `moveLead` a `MoveLeadRequest`. */
function bodyName(operationId: string): string {
  const [, verb, thing = ''] = /^(create|update)([A-Z]\w*)$/.exec(operationId) ?? [];
  if (verb === 'create') return `New${thing}`;
  if (verb === 'update') return `${thing}Update`;
  return `${operationId.slice(0, 1).toUpperCase()}${operationId.slice(1)}Request`;
}

/** The names of the component schemas that `nodes` lead to. */
function closure(document: Document, nodes: readonly unknown[]): Set<string> {
  const names = new Set<string>();
  const queue = nodes.flatMap(namesIn);
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (names.has(name)) continue;
    names.add(name);
    for (const next of namesIn(document.components.schemas?.[name])) queue.push(next);
  }
  return names;
}

function namesIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const ref = '$ref' in node && typeof node.$ref === 'string' ? node.$ref : '';
  const own = ref.startsWith(SCHEMAS) ? [ref.slice(SCHEMAS.length)] : [];
  return [...own, ...Object.values(node).flatMap(namesIn)];
}

/** Lets every object below `node` have members that are not described yet. */
function open(node: unknown): void {
  forEachSchema(node, (schema) => {
    if (schema.additionalProperties === false) delete schema.additionalProperties;
  });
}

/**
 * Generators take a member of a component that has a default for one that is always there (openapi-typescript), as it is
 * in answers. In a body it may be omitted, so its default is stated in the description.
 */
function makeDefaultsOptional(node: unknown): void {
  forEachSchema(node, (schema) => {
    if (schema.default === undefined) return;
    const told = `Default: \`${JSON.stringify(schema.default)}\`.`;
    schema.description = schema.description === undefined ? told : `${schema.description} ${told}`;
    delete schema.default;
  });
}

function forEachSchema(node: unknown, change: (schema: JsonSchema) => void): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, child] of Object.entries(node)) {
    if (key !== 'example' && key !== 'examples' && key !== 'default') forEachSchema(child, change);
  }
  if (!Array.isArray(node)) change(node as JsonSchema);
}
