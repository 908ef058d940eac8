import { fold, normalised } from '../lib/text.ts';

/** The form in which names are compared: no two profiles of a tenant are called the same, in whatever case. */
export function profileNameKey(name: string): string {
  return normalised(name, 'NFKC').toLowerCase();
}

/** What names of sources are compared by. */
export function sourceNameKey(name: string): string {
  return fold(name);
}
