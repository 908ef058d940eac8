import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, globSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/*
 * Builds `dist` from `src`: the compiler writes JavaScript, declarations and source maps; everything else is copied. It does
 * not check types: `npm run check` does, which takes three times as long.
 */
const REPOSITORY = resolve(import.meta.dirname, '../..');
const SOURCE = join(REPOSITORY, 'src');
const TARGET = join(REPOSITORY, 'dist');

function compile(): void {
  const tsc = join(REPOSITORY, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '--project', join(REPOSITORY, 'tsconfig.build.json'), '--noCheck'];
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`The compiler ended with ${status}.`);
}

/** Migrations, templates, styles and lists, which modules expect next to themselves. */
function copyAssets(): number {
  const assets = globSync('**/*', { cwd: SOURCE }).filter(
    (name) => !name.endsWith('.ts') && statSync(join(SOURCE, name)).isFile(),
  );
  for (const name of assets) {
    mkdirSync(dirname(join(TARGET, name)), { recursive: true });
    copyFileSync(join(SOURCE, name), join(TARGET, name));
  }
  return assets.length;
}

/** The compiler rewrites only imports: any other reference to a TypeScript file would be broken. */
function refuseTypeScript(modules: readonly string[]): void {
  const address = /(?:new URL|join|resolve|fork)\([^()\n]*\.ts['"`]/;
  const wrong = modules.filter((name) => address.test(readFileSync(join(TARGET, name), 'utf8')));
  if (wrong.length === 0) return;
  throw new Error(`${wrong.join(', ')}: refers to a .ts file; use moduleBeside from src/lib/package.ts.`);
}

rmSync(TARGET, { recursive: true, force: true });
compile();
const modules = globSync('**/*.js', { cwd: TARGET });
refuseTypeScript(modules);
const assets = copyAssets();
chmodSync(join(TARGET, 'main.js'), 0o755);
console.error(`dist: ${modules.length} modules, ${assets} other files.`);
