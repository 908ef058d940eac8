import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Scores every post of a folder in two processes, and fails if the results differ in any byte. */
const EXPLAIN = join(import.meta.dirname, 'explain.ts');

interface Run {
  posts: number;
  digest: string;
}

function run(folder: string): Promise<Run> {
  const child = spawn(process.execPath, [EXPLAIN, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const hash = createHash('sha256');
  let posts = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    hash.update(`${line}\n`);
    posts++;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve({ posts, digest: hash.digest('hex') });
      else reject(new Error(`scoring ended with code ${code}`));
    });
  });
}

const folder = process.argv[2];
if (folder === undefined) {
  console.error('Usage: npm run quality:same -- FOLDER   (a folder with labels/ and posts/)');
  process.exit(64);
}
const [first, second] = [await run(folder), await run(folder)];
console.log(`${first.posts} posts: ${first.digest}\n${second.posts} posts: ${second.digest}`);
if (first.posts === 0 || first.digest !== second.digest) {
  console.error('The results differ.');
  process.exit(1);
}
