import { DomainError } from '../model/errors.ts';

/** Recipients in a page, which takes 0.7 KB in all. Larger ones would waste more where few of many recipients are counted. */
const PAGE_RECIPIENTS = 256;
/** Maximum number of pages of all counts together: 280 MB. */
const MOST_PAGES = 400_000;
const RETRY_SECONDS = 30;

let pagesInUse = 0;

/** Up to 16 bits for each recipient, by recipient number. */
export interface RecipientBits {
  /** Sets a bit of a recipient; returns its previous bits. @throws DomainError `UNAVAILABLE`, see {@link createBitMemory} */
  set(recipient: number, bit: number): number;
  /** Releases the memory; no bit may be set afterwards. */
  release(): void;
}

/** Memory for the bits of one count. */
export interface BitMemory {
  create(): RecipientBits;
  /** Releases what was not released yet. Must be called exactly once. */
  release(): void;
}

/**
 * Memory for a count of recipients. Their numbers are consecutive within a campaign, so that a recipient takes two bytes; a map took 40 or more, and
 * paused the process when it grew. @throws DomainError `UNAVAILABLE` where the counts that are in progress take too much
 */
export function createBitMemory(mostPages = MOST_PAGES): BitMemory {
  let taken = 0;

  function give(count: number): void {
    taken -= count;
    pagesInUse -= count;
  }

  function take(): Uint16Array {
    if (pagesInUse >= mostPages) throw tooLarge();
    taken++;
    pagesInUse++;
    return new Uint16Array(PAGE_RECIPIENTS);
  }

  return {
    create() {
      const pages = new Map<number, Uint16Array>();
      return {
        set(recipient, bit) {
          const number = Math.floor(recipient / PAGE_RECIPIENTS);
          let page = pages.get(number);
          if (page === undefined) {
            page = take();
            pages.set(number, page);
          }
          const place = recipient % PAGE_RECIPIENTS;
          const before = page[place] ?? 0;
          page[place] = before | (1 << bit);
          return before;
        },
        release() {
          give(pages.size);
          pages.clear();
        },
      };
    },
    release() {
      give(taken);
    },
  };
}

function tooLarge(): DomainError {
  return new DomainError('UNAVAILABLE', 'The statistics that are being computed take too much memory.', {
    hint: 'Use a shorter range ("from" and "to"), or repeat the request later.',
    retryAfterSeconds: RETRY_SECONDS,
  });
}
