import { toHttpDate } from '../../lib/clock.ts';
import type { Deprecation } from '../deprecations.ts';
import type { Operation } from './document-types.ts';
import { headerRef } from './headers.ts';

/** Says of an operation in the registry that it will go, when, and what replaces it. */
export function markDeprecated(
  operation: Operation,
  { method, url }: { method: string; url: string },
  deprecations: readonly Deprecation[],
): void {
  const found = deprecations.find((entry) => entry.method === method && entry.path === url);
  if (found === undefined) return;
  operation.deprecated = true;
  const notice = `Deprecated: it goes on ${toHttpDate(found.sunsetAt)}. Use ${found.successor} instead.`;
  operation.description = [operation.description, notice].filter(Boolean).join('\n\n');
  for (const answer of Object.values(operation.responses)) {
    if ('$ref' in answer) continue;
    answer.headers = {
      ...answer.headers,
      Deprecation: headerRef('Deprecation'),
      Sunset: headerRef('Sunset'),
      Link: headerRef('Link'),
    };
  }
}
