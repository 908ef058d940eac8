import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** Returns the errors of a value according to a schema of an OpenAPI 3.1 document. */
export type CheckSchema = (schema: object, value: unknown) => string[];

/** Validates with the document's own schemas (JSON Schema 2020-12), as a generated client would. */
export function createSchemaCheck(document: object): CheckSchema {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // Its types declare the default export of a CommonJS module, which under NodeNext is the module itself.
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

/** Resolves references within the document. */
function withBase(schema: object): object {
  const text = JSON.stringify(closed(schema), (key, value) => (key === '$ref' ? `document${value}` : value));
  return JSON.parse(text);
}

/**
 * Responses are described as open to new members. Tests allow only described ones: an object with named members has
 * no others, unless it is refined further (`allOf`).
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
