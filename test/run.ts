import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The part of vitest's JSON report used here. */
interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  success: boolean;
}

/**
 * Runs vitest with the given arguments, and prints a final line with the counts: `N passed, N failed`. Fails if
 * vitest does, if no test ran, or in CI if one was skipped: a shrinking suite must not look like a pass.
 */
function run(args: string[]): number {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-test-'));
  const file = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  try {
    const command = ['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...args];
    const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' });
    return summarize(readReport(file), status);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReport(file: string): Report | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

function summarize(report: Report | null, status: number | null): number {
  const passed = report?.numPassedTests ?? 0;
  const failed = report?.numFailedTests ?? 0;
  const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
  const faults = [
    ...(report === null ? ['vitest wrote no report.'] : []),
    ...(passed + failed === 0 ? ['No test ran.'] : []),
    ...(process.env.CI && skipped > 0 ? [`${skipped} tests were skipped.`] : []),
    ...(status !== 0 && failed === 0 ? [`vitest ended with ${status ?? 'a signal'}; see above.`] : []),
  ];
  for (const fault of faults) console.log(fault);
  console.log(`${passed} passed, ${failed} failed`);
  return faults.length > 0 || failed > 0 || report?.success !== true ? 1 : 0;
}

process.exitCode = run(process.argv.slice(2));
