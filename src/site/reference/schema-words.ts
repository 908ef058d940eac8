import type { Document, JsonSchema, Reference } from '../../http/openapi/document-types.ts';

const MOST_VALUES = 16;

/** A member of a body, nested ones by their dotted name. */
export interface Field {
  name: string;
  type: string;
  description: string;
  required: boolean;
}

/** What `$ref` points to, else the thing itself. */
export function resolve<T extends object>({ components }: Document, thing: T | Reference): T {
  if (!('$ref' in thing) || typeof thing.$ref !== 'string') return thing as T;
  const [, , kind = '', name = ''] = thing.$ref.split('/');
  return components[kind]?.[name] as T;
}

/** What a schema takes, in a few words of markdown: `string, up to 300 characters`, `"a" or "b"`. */
export function typeWords(api: Document, schema: JsonSchema): string {
  const words = describe(api, schema);
  return schema.default === undefined || isEmpty(schema.default)
    ? words
    : `${words}; default ${code(JSON.stringify(schema.default))}`;
}

/** The members of an object, those of objects inside it by dotted names, one level down. */
export function fieldsOf(api: Document, schema: JsonSchema, prefix = '', depth = 0): Field[] {
  const properties = (objectOf(api, schema)?.properties ?? {}) as Record<string, JsonSchema>;
  const required = (objectOf(api, schema)?.required ?? []) as string[];
  return Object.entries(properties).flatMap(([key, member]) => {
    const name = `${prefix}${key}`;
    const description = String(member.description ?? resolve(api, member).description ?? '');
    const isRequired = required.includes(key) && member.default === undefined;
    const field = { name, type: typeWords(api, member), description, required: isRequired };
    const below = depth < 1 ? fieldsOf(api, member, `${name}.`, depth + 1) : [];
    return [field, ...below];
  });
}

function describe(api: Document, given: JsonSchema): string {
  const schema = resolve(api, given);
  const choices = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (choices !== undefined) {
    const all = choices.map((choice) => describe(api, choice));
    // An empty string beside a string that may be anything tells nobody anything.
    const told = all.length > 2 ? all.filter((words) => words !== code('""')) : all;
    return [...new Set(told)].join(' or ');
  }
  if (Array.isArray(schema.enum)) {
    const values = schema.enum.slice(0, MOST_VALUES).map((value) => code(JSON.stringify(value)));
    return values.join(', ') + (schema.enum.length > MOST_VALUES ? ' …' : '');
  }
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.type === 'array')
    return `list of ${describe(api, (schema.items ?? {}) as JsonSchema)}${bounds(schema)}`;
  return `${String(schema.type ?? 'any value')}${bounds(schema)}`;
}

function bounds({ format, minimum, maximum, minLength, maxLength, maxItems }: JsonSchema): string {
  const told: string[] = [];
  if (typeof format === 'string') told.push(format);
  if (maximum !== undefined)
    told.push(minimum === undefined ? `up to ${maximum}` : `${minimum} to ${maximum}`);
  else if (minimum !== undefined) told.push(`${minimum} or more`);
  if (maxLength !== undefined)
    told.push(`${minLength ? `${minLength} to ` : 'up to '}${maxLength} characters`);
  if (maxItems !== undefined) told.push(`at most ${maxItems}`);
  return told.length === 0 ? '' : ` (${told.join(', ')})`;
}

/** The object that a schema is, may be, or is a list of. */
function objectOf(api: Document, given: JsonSchema): JsonSchema | null {
  const schema = resolve(api, given);
  if (schema.properties !== undefined) return schema;
  if (schema.type === 'array') return objectOf(api, (schema.items ?? {}) as JsonSchema);
  const choices = ((schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined) ?? [];
  return choices.map((choice) => objectOf(api, choice)).find((object) => object !== null) ?? null;
}

function isEmpty(value: unknown): boolean {
  return value === '' || (typeof value === 'object' && JSON.stringify(value ?? {}).length === 2);
}

function code(text: string): string {
  return `\`${text}\``;
}
