import { basename, dirname, extname } from 'node:path';

/**
 * How the program that runs now is called again from a shell. Only by its whole path where npx keeps it: the shell does not
 * know that folder, and npx by name alone could bring another package.
 */
export function programName(path: string, env: NodeJS.ProcessEnv): string {
  if (extname(path) === '.ts') return 'npm run --silent signalpost --';
  if (extname(path) === '.js') return `node ${shellWord(path)}`;
  const folders = env.npm_command === 'exec' ? [] : (env.PATH ?? '').split(':');
  return folders.includes(dirname(path)) ? basename(path) : shellWord(path);
}

/** A text as one word of a shell's command. */
export function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
