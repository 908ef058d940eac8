/** Control characters but line ends and tabs: a terminal may obey them. */
const CONTROL = /[^\P{Cc}\n\t]/gu;
const ANY_CONTROL = /\p{Cc}/gu;

/** A text that may hold what others wrote, as a terminal can show it: control characters as `\u001b`. */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(CONTROL, escapeOf);
}

/** The same in one line, which nobody's text can make two of. */
export function printableLine(text: string): string {
  return text.replace(ANY_CONTROL, escapeOf);
}

function escapeOf(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
