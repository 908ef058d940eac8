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

/** Which operations of the document are asked for. */
export interface PartFilter {
  tag?: TagName | undefined;
  operation?: string | undefined;
}

/** The asked part of the document, with the components that it needs; all of it where nothing is asked for. */
export function partOfDocument(document: Document, { tag, operation }: PartFilter): Document {
  if (tag === undefined && operation === undefined) return document;
  const isAsked = (one: Operation) =>
    belongs(one, tag) && (operation === undefined || one.operationId === operation);
  const paths = operationsWhere(document.paths, isAsked);
  const named = Object.values(paths).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags ?? []));
  const part = {
    ...document,
    tags: document.tags.filter(({ name }) => (operation === undefined ? name === tag : named.includes(name))),
    paths,
    webhooks: operationsWhere(document.webhooks ?? {}, isAsked),
    components: Object.fromEntries(
      Object.entries(document.components).map(([kind, entries]) => [kind, { ...entries }]),
    ),
  };
  pruneComponents(part);
  return part;
}

function operationsWhere<T extends Record<string, Operation>>(
  paths: Record<string, T>,
  isAsked: (operation: Operation) => boolean,
): Record<string, T> {
  return Object.fromEntries(
    Object.entries(paths).flatMap(([path, item]) => {
      const kept = Object.entries(item).filter(([, operation]) => isAsked(operation));
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
