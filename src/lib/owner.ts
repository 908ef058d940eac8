import { lchownSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Leaves what root has made in somebody's folder to whom the folder belongs, as SQLite does with what it lays beside a
 * database: a server that runs as them could not open it. Does nothing for other users.
 * @throws the system's error where the file system knows no owners
 */
export function leaveToOwner(path: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  if (uid !== 0) lchownSync(path, uid, gid);
}
