import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { inPackage } from './package.ts';

/** Words of a table, at least one, none of them empty. */
export const wordsSchema = z.array(z.string().min(1)).min(1).readonly();

/** A table of `data/words`, checked as it is loaded. @throws Error naming the file and what is wrong with it */
export function readWordTable<T extends z.ZodType>(name: string, schema: T): z.output<T> {
  const path = `data/words/${name}.json`;
  const checked = schema.safeParse(JSON.parse(readFileSync(inPackage(path), 'utf8')));
  if (!checked.success) throw new Error(`${path} is broken.\n${z.prettifyError(checked.error)}`);
  return checked.data;
}
