/** One instruction of a Dockerfile: its word, and the rest of its line. */
export interface Step {
  word: string;
  rest: string;
}

/** The instructions in their order; lines that end in a backslash go on in the next (docs.docker.com/reference/dockerfile). */
export function readDockerfile(text: string): Step[] {
  return text
    .replace(/^\s*#.*$/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [, word = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
      return { word: word.toUpperCase(), rest };
    });
}

/** `A=1 B=two` as an object. */
export function readPairs(rest: string): Record<string, string> {
  return Object.fromEntries(
    rest.split(/\s+/).map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return [name, value.join('=')];
    }),
  );
}

/** The command of an instruction in its JSON form: `CMD ["a", "b"]`, with options before it. */
export function readCommand(rest: string): string[] {
  const list: unknown = JSON.parse(rest.slice(rest.indexOf('[')));
  if (!Array.isArray(list)) throw new Error(`"${rest}" is no command in JSON form.`);
  return list.map(String);
}
