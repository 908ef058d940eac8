/** The parts of an OpenAPI document that are worked on here; JSON Schemas stay open. */
export type JsonSchema = { [keyword: string]: unknown };

export interface Parameter {
  name: string;
  in: 'query' | 'path' | 'header';
  required?: boolean;
  description?: string;
  schema: JsonSchema;
  style?: string;
  explode?: boolean;
  example?: unknown;
}

export interface MediaType {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface Reference {
  $ref: string;
}

export interface Answer {
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, MediaType>;
}

export interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  deprecated?: boolean;
  parameters?: (Parameter | Reference)[];
  requestBody?: { required?: boolean; description?: string; content: Record<string, MediaType> };
  responses: Record<string, Answer | Reference>;
  security?: Record<string, string[]>[];
  'x-required-scope'?: string;
}

export interface Document {
  openapi: string;
  info: Record<string, unknown>;
  servers: { url: string; description?: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks?: Record<string, { post: Operation }>;
  components: Record<string, Record<string, unknown>>;
}

/** An API's description for other parts of the server; each member is built on first use. */
export interface DescribedApi {
  description(): Document;
  /** What its index and its list of operations answer. */
  index(): unknown;
  operations(): unknown;
}
