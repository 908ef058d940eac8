/** A member that people name themselves, as a text area has it: one a line, `key = value`. */
type Value = string | number | boolean;

/** The lines of a record. */
export function linesOfMembers(record: Readonly<Record<string, Value>>): string {
  return Object.entries(record)
    .map(([key, value]) => {
      const isText = typeof value === 'string' && isPlain(value);
      return `${key} = ${isText ? value : JSON.stringify(value)}`;
    })
    .join('\n');
}

/** `key = value`; a number, `true` and `false` are themselves, everything else is text, as is what stands in quotes. */
export function memberOfLine(line: string): [string, Value] {
  const at = line.indexOf('=');
  if (at === -1) return [line, ''];
  const key = line.slice(0, at).trim();
  const value = line.slice(at + 1).trim();
  if (value === 'true' || value === 'false') return [key, value === 'true'];
  if (/^-?\d{1,15}(\.\d{1,9})?$/.test(value)) return [key, Number(value)];
  return [key, unquoted(value)];
}

/** Whether a text is read back as itself without quotes. */
function isPlain(value: string): boolean {
  return value !== '' && memberOfLine(`k=${value}`)[1] === value && !/[\r\n]/.test(value);
}

function unquoted(value: string): string {
  if (!/^".*"$/.test(value)) return value;
  try {
    return String(JSON.parse(value));
  } catch {
    return value.slice(1, -1);
  }
}
