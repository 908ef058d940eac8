import type {
  Document,
  JsonSchema,
  OperationObject,
  Parameter,
  Reference,
  ResponseObject,
} from '../../http/openapi/schemas.ts';

/** Errors that the page documents once for all operations (content/developers/reference.md). */
const COMMON_ERRORS: ReadonlySet<string> = new Set([
  'INVALID_REQUEST',
  'UNKNOWN_PARAMETER',
  'INVALID_CURSOR',
  'UNAUTHENTICATED',
  'INSUFFICIENT_SCOPE',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'CONFLICT',
  'IDEMPOTENCY_IN_FLIGHT',
  'IDEMPOTENCY_MISMATCH',
  'RATE_LIMITED',
  'INTERNAL',
  'UNAVAILABLE',
]);

interface Described {
  api: Document;
  method: string;
  path: string;
  operation: OperationObject;
}

/** The operations of some tags as markdown: a second-level heading per tag, a third-level heading per operation. */
export function referenceMarkdown(api: Document, tags: readonly string[]): string {
  const all = Object.entries(api.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): Described => ({ api, method, path, operation })),
  );
  return api.tags
    .filter(({ name }) => tags.includes(name))
    .map(({ name, description }) => {
      const own = all.filter(({ operation }) => operation.tags?.[0] === name);
      return [`## ${name}`, description, ...own.map(operationMarkdown)].join('\n\n');
    })
    .join('\n\n');
}

function operationMarkdown(one: Described): string {
  const { api, method, path, operation } = one;
  const parameters = (operation.parameters ?? [])
    .map((given) => resolve<Parameter>(api, given))
    // Every POST has the same one; the page documents it once.
    .filter(({ name }) => name !== 'Idempotency-Key');
  const body = operation.requestBody?.content['application/json'];
  const parts = [
    `### ${operation.summary ?? path}`,
    `\`${method.toUpperCase()} ${path}\` · ${scopeWords(operation)}${operation.deprecated ? ' · deprecated' : ''}`,
    // The line above already names the scope.
    (operation.description ?? '').replace(/\n*(Requires the scope `[^`]+`|Any valid key can be used)\.$/, ''),
    parameters.length > 0
      ? table(
          ['Parameter', 'In', 'Takes', 'Meaning'],
          parameters.map((given) => parameterRow(api, given)),
        )
      : '',
    body === undefined ? '' : bodyMarkdown(api, body.schema),
    answersMarkdown(one),
    `\`\`\`sh\n${curl(one, parameters)}\n\`\`\``,
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function scopeWords(operation: OperationObject): string {
  if (operation.security?.length === 0) return 'no key needed';
  const scope = operation['x-required-scope'];
  return scope === undefined ? 'any valid key' : `scope \`${scope}\``;
}

function parameterRow(api: Document, { name, in: place, required, schema, description }: Parameter) {
  const mark = required && place !== 'path' ? ' (required)' : '';
  return [`\`${name}\`${mark}`, place, typeWords(api, schema), description ?? ''];
}

function bodyMarkdown(api: Document, schema: JsonSchema): string {
  const fields = fieldsOf(api, schema);
  if (fields.length === 0) return `The body is ${typeWords(api, schema)}.`;
  const rows = fields.map(({ name, type, description, required }) => [
    `\`${name}\`${required ? ' (required)' : ''}`,
    type,
    description,
  ]);
  return table(['In the body', 'Takes', 'Meaning'], rows);
}

function answersMarkdown({ api, operation }: Described): string {
  const answers = Object.entries(operation.responses).map(([status, given]) => ({
    status,
    answer: resolve<ResponseObject>(api, given),
  }));
  const good = answers
    .filter(({ status }) => Number(status) < 400)
    .map(({ status, answer }) => `${status} ${answer.description.replace(/\.$/, '')}`);
  const bad = answers
    .filter(({ status }) => Number(status) >= 400)
    .map(({ status, answer }) => ({
      status,
      codes: codesOf(answer.content?.['application/problem+json']?.schema ?? {}).filter(
        (code) => !COMMON_ERRORS.has(code),
      ),
    }))
    .filter(({ codes }) => codes.length > 0)
    .map(({ status, codes }) => `${status} ${codes.map((code) => `\`${code}\``).join(', ')}`);
  return `Answers ${good.join('; ')}.${bad.length > 0 ? ` Errors of its own: ${bad.join('; ')}.` : ''}`;
}

/** The codes that a problem's schema allows. */
function codesOf(schema: JsonSchema): string[] {
  const code = (schema.properties as Record<string, JsonSchema> | undefined)?.code;
  if (Array.isArray(code?.enum)) return code.enum.map(String);
  return code?.const === undefined ? [] : [String(code.const)];
}

/** A command to paste; IDs are in capitals, because the reader has to replace them. */
function curl({ api, method, path, operation }: Described, parameters: readonly Parameter[]): string {
  const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const example = parameters.find((given) => given.in === 'path' && given.name === name)?.example;
    return typeof example === 'string' ? example : `\${${name.toUpperCase()}}`;
  });
  const lines = [
    `curl -sS${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} "${api.servers[0]?.url}${filled}"`,
  ];
  if (operation.security?.length !== 0) lines.push('-H "Authorization: Bearer $API_KEY"');
  const body = operation.requestBody?.content['application/json'];
  const example = body?.example ?? Object.values(body?.examples ?? {})[0]?.value;
  if (example !== undefined) {
    lines.push("-H 'Content-Type: application/json'");
    lines.push(`-d '${JSON.stringify(example).replaceAll("'", "'\\''")}'`);
  }
  return lines.join(' \\\n  ');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

/** A table cell is one line, and an unescaped bar would start the next cell. */
function cell(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
}

const MOST_VALUES = 16;

/** A member of a body; nested ones have dotted names. */
interface Field {
  name: string;
  type: string;
  description: string;
  required: boolean;
}

/** Resolves a `$ref`; returns anything else unchanged. */
function resolve<T extends object>({ components }: Document, thing: T | Reference): T {
  if (!('$ref' in thing) || typeof thing.$ref !== 'string') return thing as T;
  const [, , kind = '', name = ''] = thing.$ref.split('/');
  return components[kind]?.[name] as T;
}

/** What a schema accepts, in a few words of markdown: `string, up to 300 characters`, `"a" or "b"`. */
function typeWords(api: Document, schema: JsonSchema): string {
  const words = describe(api, schema);
  return schema.default === undefined || isEmpty(schema.default)
    ? words
    : `${words}; default ${code(JSON.stringify(schema.default))}`;
}

/** The members of an object; those of nested objects have dotted names, one level down. */
function fieldsOf(api: Document, schema: JsonSchema, prefix = '', depth = 0): Field[] {
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
    // An empty string adds no information next to any other string.
    const parts = all.length > 2 ? all.filter((words) => words !== code('""')) : all;
    return [...new Set(parts)].join(' or ');
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
  const parts: string[] = [];
  if (typeof format === 'string') parts.push(format);
  if (maximum !== undefined)
    parts.push(minimum === undefined ? `up to ${maximum}` : `${minimum} to ${maximum}`);
  else if (minimum !== undefined) parts.push(`${minimum} or more`);
  if (maxLength !== undefined)
    parts.push(`${minLength ? `${minLength} to ` : 'up to '}${maxLength} characters`);
  if (maxItems !== undefined) parts.push(`at most ${maxItems}`);
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
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
