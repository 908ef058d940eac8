import type { JsonSchema } from './openapi.ts';

/** The types of the client, generated from the description of /v1 by `npm run openapi`. */
export const CLIENT_FILE = 'src/client/operations.ts';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
/** Separate, so that no tool reads it as an export of this file. */
const EXPORTED = 'export';
const HEAD = `// biome-ignore-all format: a type a line
// Generated from the description of /v1 by \`npm run openapi\`; do not edit.
`;

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  schema: JsonSchema;
}

interface Described {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, { content?: Record<string, { schema: JsonSchema }> }>;
}

interface ApiDescription {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, JsonSchema> };
}

/** The module: a type per component, types for the input and output of each operation, and its method and path. */
export function clientTypes(document: ApiDescription): string {
  const components = Object.entries(document.components.schemas).map(
    ([name, schema]) => `export type ${name} = ${typeOf(schema)};`,
  );
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
  );
  const lines = operations.map((one) => {
    const { required, optional } = inputOf(one);
    const isFree = required.length === 0;
    const input = `{ ${[...required, ...optional].join('; ')} }`;
    return `  ${one.operationId}: { input: ${input}; free: ${isFree}; answer: ${answerOf(one)}; item: ${itemOf(one)} };`;
  });
  const places = operations.map(
    (one) => `  ${one.operationId}: ['${one.method}', '${one.path}', ${itemOf(one) !== 'never'}],`,
  );
  return `${HEAD}
${components.join('\n')}

/** The input and output of each operation, and the items of a list. \`free\`: it can be called without arguments. */
export interface Operations {
${lines.join('\n')}
}

/** Method and path of each operation, and whether it is a list. */
${EXPORTED} const OPERATIONS: Record<keyof Operations, readonly [method: string, path: string, isList: boolean]> = {
${places.join('\n')}
};
`;
}

function inputOf({ parameters = [], requestBody }: Described): { required: string[]; optional: string[] } {
  const own = parameters.filter(({ in: place }) => place === 'path' || place === 'query');
  const member = ({ name, schema, in: place }: Parameter, mark: string) => {
    const type = typeOf(schema);
    const many = schema.type === 'array' ? `${type} | ${typeOf(schema.items as JsonSchema)}` : type;
    return `${propertyName(name)}${mark}: ${place === 'path' ? 'string' : many}`;
  };
  const required = own.filter((one) => one.required).map((one) => member(one, ''));
  const optional = own.filter((one) => !one.required).map((one) => member(one, '?'));
  const schema = requestBody?.content['application/json']?.schema;
  if (schema !== undefined) {
    if (requestBody?.required === false) optional.push(`body?: ${typeOf(schema)}`);
    else required.push(`body: ${typeOf(schema)}`);
  }
  return { required, optional };
}

function successes({ responses }: Described): JsonSchema[] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, { content }]): JsonSchema[] => {
      const schema = content?.['application/json']?.schema;
      return schema === undefined ? [] : [schema];
    });
}

/** The content of `data`; the whole body of other responses. */
function answerOf(operation: Described): string {
  const answers = successes(operation).map((schema) => {
    const { data, pagination } = (schema.properties ?? {}) as Record<string, JsonSchema>;
    return typeOf(data === undefined || pagination !== undefined ? schema : data);
  });
  return answers.length === 0 ? 'undefined' : [...new Set(answers)].join(' | ');
}

function itemOf(operation: Described): string {
  const [schema] = successes(operation);
  const { data, pagination } = (schema?.properties ?? {}) as Record<string, JsonSchema>;
  return data?.items === undefined || pagination === undefined ? 'never' : typeOf(data.items as JsonSchema);
}

function typeOf(schema: JsonSchema): string {
  if (typeof schema.$ref === 'string') return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  for (const key of ['anyOf', 'oneOf'] as const) {
    const branches = schema[key] as JsonSchema[] | undefined;
    if (branches !== undefined) return [...new Set(branches.map(typeOf))].join(' | ');
  }
  const all = schema.allOf as JsonSchema[] | undefined;
  if (all !== undefined) return all.map((one) => `(${typeOf(one)})`).join(' & ');
  const types = [schema.type].flat();
  return [...new Set(types.map((type) => plainType(String(type), schema)))].join(' | ');
}

function plainType(type: string, schema: JsonSchema): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
    case 'number':
      return type;
    case 'integer':
      return 'number';
    case 'array':
      return `(${typeOf((schema.items ?? {}) as JsonSchema)})[]`;
    case 'object':
      return objectType(schema);
    default:
      return 'unknown';
  }
}

function objectType({ properties = {}, required = [], additionalProperties }: JsonSchema): string {
  const needed = new Set(required as string[]);
  const members = Object.entries(properties as Record<string, JsonSchema>).map(
    ([name, schema]) => `${propertyName(name)}${needed.has(name) ? '' : '?'}: ${typeOf(schema)}`,
  );
  if (members.length > 0) return `{ ${members.join('; ')} }`;
  const value = typeof additionalProperties === 'object' ? (additionalProperties as JsonSchema) : {};
  return `Record<string, ${typeOf(value)}>`;
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
