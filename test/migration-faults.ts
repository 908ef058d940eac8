import { readMigrations } from '../src/store/migrations.ts';

/** Folders whose migrations are not numbered from 1 without gaps and repetitions: no database could be opened. */
export function migrationFaults(folders: readonly string[]): string[] {
  return folders.flatMap((folder) => {
    try {
      readMigrations(folder);
      return [];
    } catch (error) {
      return [`${folder}: ${error instanceof Error ? error.message : error}`];
    }
  });
}
