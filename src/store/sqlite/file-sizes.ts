import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Bytes of the database, of its write-ahead log, and of free disk beside them that this user may take. */
export function fileSizes(file: string): { databaseBytes: number; walBytes: number; freeBytes: number } {
  const { bavail, bsize } = statfsSync(dirname(file));
  return { databaseBytes: sizeOf(file), walBytes: sizeOf(`${file}-wal`), freeBytes: bavail * bsize };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
