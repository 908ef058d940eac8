import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE_NAME = /^(\d{3})-[a-z0-9-]+\.sql$/;

/** Schema versions before and after; equal if nothing had to be done. */
export interface MigrationResult {
  from: number;
  to: number;
}

export interface Migration {
  version: number;
  sql: string;
}

/** The migrations of a folder, ordered by number; numbers must start at 1 without gaps. */
export function readMigrations(folder: string): Migration[] {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort();
  return files.map((name, index) => {
    const version = Number(FILE_NAME.exec(name)?.[1]);
    const before = files[index - 1];
    if (before !== undefined && version === Number(FILE_NAME.exec(before)?.[1]))
      throw new Error(`Migration ${name} has the number of ${before}.`);
    if (version !== index + 1) throw new Error(`Migration ${name} is misnamed or leaves a gap before it.`);
    return { version, sql: readFileSync(join(folder, name), 'utf8') };
  });
}
