import type { z } from 'zod';
import type { ContentFault, Place } from './content-error.ts';

/** A checked value with the place of any of its members, or every fault with its own. */
export type LocatedResult<T> =
  | { ok: true; value: T; placeOf: PlaceOf }
  | { ok: false; faults: ContentFault[] };

/** Where the member at `path` stands in its file; the nearest one above it where it is not there. */
export type PlaceOf = (path: readonly PropertyKey[]) => Place;

/** Checks what was read from `file`, so that a fault of meaning names its place just as a fault of syntax does. */
export function checkLocated<T extends z.ZodType>(
  { value, file, placeOf }: { value: unknown; file: string; placeOf: PlaceOf },
  schema: T,
): LocatedResult<z.output<T>> {
  const checked = schema.safeParse(value);
  if (checked.success) return { ok: true, value: checked.data, placeOf };
  return { ok: false, faults: checked.error.issues.flatMap((issue) => faultsOf(issue, file, placeOf)) };
}

function faultsOf(issue: z.core.$ZodIssue, file: string, placeOf: PlaceOf): ContentFault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      file,
      ...placeOf([...issue.path, key]),
      detail: `There is no field "${[...issue.path, key].join('.')}"; remove it or correct its name.`,
    }));
  }
  const name = issue.path.join('.');
  const detail = name === '' ? issue.message : `${name}: ${issue.message}`;
  return [{ file, ...placeOf(issue.path), detail }];
}
