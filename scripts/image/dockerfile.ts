/** An instruction of a Dockerfile: its keyword and the rest of the line. */
export interface Step {
  word: string;
  rest: string;
}

/** The instructions in order; a line that ends in a backslash continues on the next (docs.docker.com/reference/dockerfile). */
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

/** Parses `A=1 B=two` into an object. */
export function readPairs(rest: string): Record<string, string> {
  return Object.fromEntries(
    rest.split(/\s+/).map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return [name, value.join('=')];
    }),
  );
}

/** The command of an instruction in JSON form: `CMD ["a", "b"]`, possibly after options. */
export function readCommand(rest: string): string[] {
  const list: unknown = JSON.parse(rest.slice(rest.indexOf('[')));
  if (!Array.isArray(list)) throw new Error(`"${rest}" is not a command in JSON form.`);
  return list.map(String);
}
