/** The file with the table of routes, between two marker lines. */
export const ROUTES_FILE = 'docs/http.md';

const MARKED = /(<!-- routes: [^\n]*-->\n).*?(<!-- \/routes -->)/s;

interface Line {
  method: string;
  path: string;
  summary: string;
  scope: string | null;
}

/** `text` with the table of these operations, as listed by `/v1/operations`, between its markers. */
export function withRouteTable(text: string, operations: readonly Line[]): string {
  const rows = operations.map(({ method, path, summary, scope }) => {
    const needs = scope === null ? 'no key' : scope === 'any' ? 'any key' : `\`${scope}\``;
    return `| \`${method} ${path}\` | ${summary} | ${needs} |`;
  });
  const table = ['| Route | Does | Needs |', '|---|---|---|', ...rows].join('\n');
  if (!MARKED.test(text)) throw new Error(`${ROUTES_FILE} has lost the marks of its table of routes.`);
  return text.replace(MARKED, (_all, open: string, close: string) => `${open}\n${table}\n\n${close}`);
}
