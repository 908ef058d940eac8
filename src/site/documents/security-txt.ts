import { CACHE_BRIEFLY, type Representation, represent } from '../../http/representation.ts';
import { toIso } from '../../lib/clock.ts';
import { SECURITY_PATH } from '../addresses.ts';
import { type SiteDocument, TEXT } from './document.ts';
import type { DocumentParts } from './parts.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Renewed weekly, good for half a year: RFC 9116, section 2.5.5 wants less than a year. */
const RENEWED_EVERY_MS = 7 * DAY_MS;
const GOOD_FOR_MS = 180 * DAY_MS;

/** `/.well-known/security.txt` (RFC 9116): whom to tell of a weakness. Its date moves on while the server runs. */
export function createSecurityTxt({ baseUrl, content }: DocumentParts): SiteDocument {
  const { email, lang } = content.identity;
  let madeAt = Number.NaN;
  let current: Representation | null = null;

  const make = (since: number): Representation => {
    const lines = [
      `Contact: mailto:${email}`,
      `Expires: ${toIso(since + GOOD_FOR_MS)}`,
      `Preferred-Languages: ${lang}`,
      `Canonical: ${baseUrl}${SECURITY_PATH}`,
    ];
    return represent({
      body: `${lines.join('\n')}\n`,
      contentType: TEXT,
      cacheControl: CACHE_BRIEFLY,
      lastModified: since,
    });
  };

  return {
    path: SECURITY_PATH,
    title: 'security.txt',
    description: 'Whom to tell of a weakness.',
    at(now) {
      // Whole weeks of the calendar, so that every node and every start give the same bytes.
      const since = now - (now % RENEWED_EVERY_MS);
      if (current === null || since !== madeAt) {
        madeAt = since;
        current = make(since);
      }
      return current;
    },
  };
}
