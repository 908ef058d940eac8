import { lchownSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents, each with `mode`; existing ones are unchanged. Node's own
 * `recursive` loops forever if the system returns ENOENT although the parent exists, as /proc does.
 * @throws the system's error
 */
export function makeFolder(folder: string, mode: number): void {
  if (isFolder(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent, mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * Gives a file created by root to the owner of its folder, as SQLite does with the files next to a database:
 * otherwise, a server running as that user could not open it. Does nothing for other users.
 * @throws the system's error if the file system has no owners
 */
export function leaveToOwner(path: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  if (uid !== 0) lchownSync(path, uid, gid);
}
