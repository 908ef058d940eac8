import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** Says what is wrong with a value by a schema of an OpenAPI 3.1 document, or nothing. */
export type CheckSchema = (schema: object, value: unknown) => string[];

/** Judges by the document's own schemas (JSON Schema 2020-12), as a client that is generated from it would. */
export function createSchemaCheck(document: object): CheckSchema {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // Its types name the default export of a CommonJS module, which under NodeNext is the module itself.
  (addFormats as unknown as (target: Ajv2020) => void)(ajv);
  ajv.addSchema({ ...(closed(document) as object), $id: 'document' });
  const compiled = new Map<object, ReturnType<Ajv2020['compile']>>();

  return (schema, value) => {
    const validate = compiled.get(schema) ?? ajv.compile(withBase(schema));
    compiled.set(schema, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
}

/** References lead into the document. */
function withBase(schema: object): object {
  const text = JSON.stringify(closed(schema), (key, value) => (key === '$ref' ? `document${value}` : value));
  return JSON.parse(text);
}

/**
 * Answers are described as open to new members. The tests hold them to those that are described: an object whose members
 * are named has no others, but for what is narrowed further (`allOf`).
 */
function closed(node: unknown, isPart = false): unknown {
  if (Array.isArray(node)) return node.map((one) => closed(one, isPart));
  if (typeof node !== 'object' || node === null) return node;
  const narrowed = 'allOf' in node;
  const copy = Object.fromEntries(
    Object.entries(node).map(([key, value]) =>
      key === 'example' || key === 'examples' ? [key, value] : [key, closed(value, key === 'allOf')],
    ),
  );
  const names = typeof copy.properties === 'object' && copy.type === 'object' && !isPart && !narrowed;
  if (names && copy.additionalProperties === undefined && copy.properties?.request_id === undefined) {
    copy.additionalProperties = false;
  }
  return copy;
}
