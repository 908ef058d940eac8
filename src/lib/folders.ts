import { lchownSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it that are missing, each with `mode`; one that is there stays as it is. Node's own
 * `recursive` tries for ever where the system says ENOENT though the folder above is there, as /proc does.
 * @throws the system's error
 */
export function makeFolder(folder: string, mode: number): void {
  if (isFolder(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent, mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * Gives a file that root created to the owner of its folder, as SQLite does with the files beside a database: a server
 * running as that user could not open it otherwise. Does nothing for other users.
 * @throws the system's error where the file system knows no owners
 */
export function leaveToOwner(path: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  if (uid !== 0) lchownSync(path, uid, gid);
}
