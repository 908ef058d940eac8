import type { BodyBytes } from '../../src/model/delivery.ts';

/** The body as text. */
export function bodyText({ bytes, start, end }: BodyBytes): string {
  return bytes.toString('utf8', start, end);
}
