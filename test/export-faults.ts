import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const VALUE = /^export (?:abstract )?(?:async )?(?:function\*?|const|let|class) (\w+)/gm;
const TYPE = /^export (?:interface|type) (\w+)/gm;
/** `import { a, type B as C } from './x.ts'`, `export { a } from './x.ts'` and `const { a } = await import('./x.ts')`. */
const BY_NAME =
  /(?:(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from|\{([^{}]*)\}\s*=\s*await import\()\s*'(\.[^']+)'/g;
/** `import * as x`, `export *`, and an `import()` whose result is handed on: none of them says which names. */
const WHOLE = /(?:\*(?: as \w+)? from |(?<!\}\s*=\s*await )import\()'(\.[^']+)'/g;

/** What the package offers to other programs: they are who uses it. */
const OFFERED = 'src/client/client.ts';
/** A driver that no setting opens yet: its tests alone use it. */
const UNOPENED = 'src/store/postgres/';

/**
 * Exports of these folders that have no reader: functions, constants and classes that no other file imports, and types that
 * stand nowhere else, in their own file neither (one in the signature of an exported function is part of what is offered).
 * They make a file look as if others leant on it, and hide what is dead: the compiler tells of a name that is not used only
 * where it is not exported. What the program itself never uses is no part of it: it belongs to the tests that do.
 * Text alone is read, which takes a tenth of a second and needs the form that the formatter gives.
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
        !file.startsWith(UNOPENED) &&
        isIn(taken, name) &&
        !isIn(takenByProgram, name) &&
        !standsTwice(text, name),
    );
    const types = namesOf(text, TYPE).filter((name) => !isIn(taken, name) && !standsTwice(text, name));
    return [
      ...unread.map(
        (name) => `${file}: nobody else imports "${name}"; take its "export" away, or it itself.`,
      ),
      ...forTests.map((name) => `${file}: the program never uses "${name}"; move it to those who do.`),
      ...types.map((name) => `${file}: the type "${name}" stands nowhere else; take it away.`),
    ];
  });
}

function namesOf(text: string, declared: RegExp): string[] {
  return [...text.matchAll(declared)].map(([, name = '']) => name);
}

function standsTwice(text: string, name: string): boolean {
  return [...text.matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length > 1;
}

/** `file name` of everything that a file takes from others; the name is `*` where it takes all. */
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
