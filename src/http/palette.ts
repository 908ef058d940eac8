import { readFile } from 'node:fs/promises';

/** The colours and type that site and dashboard share, as CSS: it stands before a face's own. */
export function readPalette(): Promise<string> {
  return readFile(new URL('./styles/palette.css', import.meta.url), 'utf8');
}
