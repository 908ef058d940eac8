/** What of an OpenAPI 3.1 description the reference page reads. */
export interface ApiDescription {
  servers: readonly { url: string }[];
  tags: readonly { name: string; description: string }[];
  paths: Record<string, Record<string, ApiOperation>>;
  components: Record<string, Record<string, unknown>>;
}

export interface ApiOperation {
  summary?: string;
  description?: string;
  tags?: string[];
  deprecated?: boolean;
  parameters?: readonly (ApiParameter | Reference)[];
  requestBody?: {
    required?: boolean;
    content: Record<
      string,
      { schema: Schema; example?: unknown; examples?: Record<string, { value: unknown }> }
    >;
  };
  responses: Record<string, ApiAnswer | Reference>;
  security?: unknown[];
  'x-required-scope'?: string;
}

export interface ApiParameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
}

export interface ApiAnswer {
  description: string;
  content?: Record<string, { schema: Schema }>;
}

export interface Reference {
  $ref: string;
}

export type Schema = { [keyword: string]: unknown };

/** The signal API as the site tells of it; each part is made when it is first asked for. */
export interface SignalApi {
  description(): ApiDescription;
  /** What `/v1` and `/v1/operations` answer. */
  index(): unknown;
  operations(): unknown;
}

/** What `$ref` points to, else the thing itself. */
export function resolve<T extends object>({ components }: ApiDescription, thing: T | Reference): T {
  if (!('$ref' in thing) || typeof thing.$ref !== 'string') return thing as T;
  const [, , kind = '', name = ''] = thing.$ref.split('/');
  return components[kind]?.[name] as T;
}
