import type { Document, Operation } from '../../http/openapi/document-types.ts';
import { pruneComponents } from '../../http/openapi/schemas.ts';
import type { TagName } from '../../model/api-tags.ts';

/** One operation in a line of the index. */
export interface OperationLine {
  method: string;
  path: string;
  summary: string;
  scope: string | null;
  tag: TagName;
  operation_id: string;
}

/** Every operation of the document, or those of one tag. */
export function listOperations(document: Document, tag: TagName | undefined): OperationLine[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, operation]) => belongs(operation, tag))
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        summary: operation.summary ?? '',
        scope: scopeOf(operation),
        tag: operation.tags?.[0] as TagName,
        operation_id: operation.operationId ?? '',
      })),
  );
}

/** The part of the document that one tag is about, with the components that it needs; all of it without a tag. */
export function partOfDocument(document: Document, tag: TagName | undefined): Document {
  if (tag === undefined) return document;
  const part = {
    ...document,
    tags: document.tags.filter(({ name }) => name === tag),
    paths: operationsOfTag(document.paths, tag),
    webhooks: operationsOfTag(document.webhooks ?? {}, tag),
    components: Object.fromEntries(
      Object.entries(document.components).map(([kind, entries]) => [kind, { ...entries }]),
    ),
  };
  pruneComponents(part);
  return part;
}

function operationsOfTag<T extends Record<string, Operation>>(
  paths: Record<string, T>,
  tag: TagName,
): Record<string, T> {
  return Object.fromEntries(
    Object.entries(paths).flatMap(([path, item]) => {
      const kept = Object.entries(item).filter(([, operation]) => belongs(operation, tag));
      return kept.length === 0 ? [] : [[path, Object.fromEntries(kept) as T]];
    }),
  );
}

function belongs({ tags }: Operation, tag: TagName | undefined): boolean {
  return tag === undefined || tags?.includes(tag) === true;
}

function scopeOf(operation: Operation): string | null {
  if (operation.security?.length === 0) return null;
  return operation['x-required-scope'] ?? 'any';
}
