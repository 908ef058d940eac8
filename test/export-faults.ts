import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const VALUE = /^export (?:abstract )?(?:async )?(?:function\*?|const|let|class) (\w+)/gm;
const TYPE = /^export (?:interface|type) (\w+)/gm;
/** `import { a, type B as C } from './x.ts'`, `export { a } from './x.ts'` and `const { a } = await import('./x.ts')`. */
const BY_NAME =
  /(?:(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from|\{([^{}]*)\}\s*=\s*await import\()\s*'(\.[^']+)'/g;
/** `import * as x`, `export *`, and an `import()` whose result is passed on: none of them states the names. */
const WHOLE = /(?:\*(?: as \w+)? from |(?<!\}\s*=\s*await )import\()'(\.[^']+)'/g;

/** The package's interface for other programs, which use its exports. */
const OFFERED = 'src/client/client.ts';

/**
 * Unused exports of these folders: functions, constants and classes that no other file imports, and types that are used
 * nowhere, not even in their own file (a type in the signature of an exported function is part of the interface).
 * They make a file look as if others depended on it, and hide dead code: the compiler reports an unused name only
 * if it is not exported. Exports of the program that only tests use belong to those tests.
 * This check reads only text, which takes a tenth of a second, and relies on the formatter's layout.
 */
export function exportFaults(folders: readonly string[]): string[] {
  const files = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`)).sort();
  const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
  const isProgram = (file: string) => /(^|\/)src\//.test(file);
  const taken = new Set([...texts].flatMap(([file, text]) => takenBy(file, text)));
  const program = [...texts].filter(([file]) => isProgram(file));
  const takenByProgram = new Set(program.flatMap(([file, text]) => takenBy(file, text)));
  return [...texts].flatMap(([file, text]) => {
    const isIn = (set: ReadonlySet<string>, name: string) =>
      set.has(`${file} ${name}`) || set.has(`${file} *`);
    const values = namesOf(text, VALUE);
    const unread = values.filter((name) => !isIn(taken, name));
    const forTests = values.filter(
      (name) =>
        isProgram(file) &&
        file !== OFFERED &&
        isIn(taken, name) &&
        !isIn(takenByProgram, name) &&
        !isUsedInOwnFile(text, name),
    );
    const types = namesOf(text, TYPE).filter((name) => !isIn(taken, name) && !isUsedInOwnFile(text, name));
    return [
      ...unread.map(
        (name) => `${file}: no other file imports "${name}". Remove its "export", or the declaration.`,
      ),
      ...forTests.map((name) => `${file}: only tests use "${name}". Move it to them.`),
      ...types.map((name) => `${file}: the type "${name}" is not used. Remove it.`),
    ];
  });
}

function namesOf(text: string, declared: RegExp): string[] {
  return [...text.matchAll(declared)].map(([, name = '']) => name);
}

function isUsedInOwnFile(text: string, name: string): boolean {
  return [...text.matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length > 1;
}

/** `file name` of everything that a file imports; the name is `*` if it imports all. */
function takenBy(file: string, text: string): string[] {
  const pathOf = (specifier: string) => join(file, '..', specifier);
  const named = [...text.matchAll(BY_NAME)].flatMap(([, imported, unpacked, specifier = '']) =>
    (imported ?? unpacked ?? '')
      .split(',')
      .map((one) => /^\s*(?:type )?(\w+)/.exec(one)?.[1])
      .map((name) => `${pathOf(specifier)} ${name}`),
  );
  return [...named, ...[...text.matchAll(WHOLE)].map(([, specifier = '']) => `${pathOf(specifier)} *`)];
}
