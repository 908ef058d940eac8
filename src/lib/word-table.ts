import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { inPackage } from './package.ts';

/** A list of at least one word, without empty ones. */
export const wordsSchema = z.array(z.string().min(1)).min(1).readonly();

/**
 * Loads a table of `data/words` and validates it.
 * @throws Error naming the file and its errors
 */
export function readWordTable<T extends z.ZodType>(name: string, schema: T): z.output<T> {
  const path = `data/words/${name}.json`;
  const checked = schema.safeParse(JSON.parse(readFileSync(inPackage(path), 'utf8')));
  if (!checked.success) throw new Error(`${path} is invalid.\n${z.prettifyError(checked.error)}`);
  return checked.data;
}
