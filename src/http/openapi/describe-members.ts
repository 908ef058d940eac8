import type { Document, JsonSchema, Operation } from './document-types.ts';

/** What names mean wherever they stand; `Resource.member` stands above `member`. */
export type Vocabulary = Record<string, string>;

/** Gives every component, parameter and member that its schema does not describe what the vocabulary says of its name. */
export function describeMembers(document: Document, vocabulary: Vocabulary): void {
  for (const [name, schema] of Object.entries(document.components.schemas ?? {})) {
    const described = schema as JsonSchema;
    described.description ??= vocabulary[name];
    describeBelow(described, name, vocabulary);
  }
  const operations = [document.paths, document.webhooks ?? {}].flatMap((paths) =>
    Object.values(paths).flatMap((item): Operation[] => Object.values(item)),
  );
  for (const operation of operations) describeOperation(operation, vocabulary);
}

function describeOperation(
  { operationId = '', parameters = [], requestBody, responses }: Operation,
  vocabulary: Vocabulary,
): void {
  for (const parameter of parameters) {
    if (!('$ref' in parameter)) parameter.description ??= vocabulary[parameter.name] ?? '';
  }
  const answers = Object.values(responses).flatMap((one) =>
    '$ref' in one ? [] : Object.values(one.content ?? {}),
  );
  for (const { schema } of [...Object.values(requestBody?.content ?? {}), ...answers]) {
    describeBelow(schema, operationId, vocabulary);
  }
}

function describeBelow(schema: JsonSchema, place: string, vocabulary: Vocabulary): void {
  for (const [name, member] of Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)) {
    const meaning = vocabulary[`${place}.${name}`] ?? vocabulary[name];
    // Beside a reference a description counts for this place (JSON Schema 2020-12, section 8.2.3.1).
    if (member.description === undefined && meaning !== undefined) member.description = meaning;
    describeBelow(member, name, vocabulary);
  }
  for (const part of ['items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf'].flatMap(
    (key) => schema[key] ?? [],
  )) {
    if (typeof part === 'object' && part !== null) describeBelow(part as JsonSchema, place, vocabulary);
  }
}
