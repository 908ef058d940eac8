import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { exportFaults } from './export-faults.ts';
import { migrationFaults } from './migration-faults.ts';

const MAX_LINES = 500;
/** A file with one importer in its own folder needs this many lines or a test of its own. */
const MIN_LINES_OF_A_PART = 80;

/** The part of dependency-cruiser's JSON report that this check uses. */
interface CruiseReport {
  modules: { source: string; dependents: string[] }[];
  summary: { violations: { from: string; to: string; rule: { name: string } }[] };
}

/** Imports in the wrong direction, and sources that the tool did not read. */
function directionFaults(sources: string[], report: CruiseReport): string[] {
  const read = new Set(report.modules.map((module) => module.source));
  // Without a supported parser, dependency-cruiser reads nothing and reports success, so the sources are counted.
  const unread = sources.filter((file) => !read.has(file));
  return [
    ...unread.map((file) => `${file}: dependency-cruiser did not read it, so its imports were not checked.`),
    ...report.summary.violations.map(({ from, to, rule }) => `${from}: may not import ${to} (${rule.name}).`),
  ];
}

/** Reads only src, to which all rules apply: the tool cannot parse the `using` declarations of the tests. */
function cruise(): CruiseReport {
  const args = ['--config', '.dependency-cruiser.json', '--output-type', 'json', 'src'];
  const options = { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
  const { stdout, stderr } = spawnSync(process.execPath, ['node_modules/.bin/depcruise', ...args], options);
  if (stdout === '') throw new Error(`dependency-cruiser wrote no report:\n${stderr}`);
  return JSON.parse(stdout);
}

function lengthFaults(sources: string[]): string[] {
  return sources.flatMap((file) => {
    const lines = linesOf(file);
    return lines > MAX_LINES ? [`${file}: ${lines} lines. Split it: the maximum is ${MAX_LINES}.`] : [];
  });
}

/** Short files with one importer in their own folder, for which a reader has to open two files to understand one thing. */
function partFaults({ modules }: CruiseReport): string[] {
  return modules.flatMap(({ source, dependents }) => {
    if (!source.endsWith('.ts')) return [];
    const [importer] = dependents;
    if (dependents.length !== 1 || importer === undefined || dirname(importer) !== dirname(source)) return [];
    if (dirname(source) === 'src') return []; // composition: not a room
    if (isThread(source)) return [];
    const test = source.replace(/^src/, 'test').replace(/\.ts$/, '.test.ts');
    if (linesOf(source) >= MIN_LINES_OF_A_PART || existsSync(test)) return [];
    return [`${source}: only ${importer} imports it. Make it part of that file, or add a test for it.`];
  });
}

/** The entry point of a thread has to be a separate file. */
function isThread(file: string): boolean {
  return readFileSync(file, 'utf8').includes('if (parentPort !== null)');
}

function linesOf(file: string): number {
  return readFileSync(file, 'utf8').trimEnd().split('\n').length;
}

/** Usual constructs that fail on texts or lists from outside, and their replacements. */
const FORBIDDEN: { pattern: RegExp; allowedIn: string; instead: string }[] = [
  {
    pattern:
      /(?:\.(?:push|unshift)|Math\.(?:max|min)|\.from(?:CharCode|CodePoint))\(\s*(?:[^(){}[\]]*,\s*)?\.\.\./gu,
    allowedIn: '',
    instead: 'a long list overflows the stack; use addAll, largestOf or smallestOf from src/lib/lists.ts',
  },
  {
    pattern: /\.normalize\(['"]NF|\.normalize\(form/gu,
    allowedIn: 'src/lib/text.ts',
    instead: 'a run of combining marks takes seconds; use normalised from src/lib/text.ts',
  },
  {
    pattern: /new URL\('[^']+\.ts'|package\.json' with/gu,
    allowedIn: '',
    instead: 'dist has no .ts file and no package.json; use moduleBeside or PACKAGE from src/lib/package.ts',
  },
];

function wordingFaults(sources: string[]): string[] {
  return sources.flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    return FORBIDDEN.filter(({ allowedIn }) => file !== allowedIn).flatMap(({ pattern, instead }) =>
      Array.from(text.matchAll(pattern), ({ index, 0: found }) => {
        const line = text.slice(0, index).split('\n').length;
        return `${file}:${line}: "${found.trim()}": ${instead}.`;
      }),
    );
  });
}

/**
 * npm up to 10 compiles every package with a binding.gyp unless the lockfile itself says `gypfile: false`, and
 * `npm install` drops that line. Without it `npm ci` needs Python, a compiler and Node's headers, although
 * better-sqlite3 brings its binaries along.
 */
function lockfileFaults(): string[] {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  if (lock.packages['node_modules/better-sqlite3']?.gypfile === false) return [];
  return [
    'package-lock.json: add "gypfile": false to node_modules/better-sqlite3, or older npm compiles SQLite.',
  ];
}

const sources = globSync('src/**/*.ts').sort();
const report = cruise();
const faults = [
  ...directionFaults(sources, report),
  ...lengthFaults(sources),
  ...partFaults(report),
  ...wordingFaults(sources),
  ...exportFaults(['src', 'test', 'bench', 'scripts']),
  ...lockfileFaults(),
  ...migrationFaults(['src/store/sqlite/migrations', 'src/store/postgres/migrations']),
];
for (const fault of faults) console.error(fault);
console.log(`${sources.length} source files checked, ${faults.length} faults.`);
process.exitCode = faults.length > 0 ? 1 : 0;
