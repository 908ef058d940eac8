import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KnownOffer, readKnownOffers } from '../../../src/signals/offer.ts';

/** A post with its labels for the sellers of `catalogue.json`: see README. */
export interface Reading {
  id: string;
  buying: 'hot' | 'warm' | 'cold';
  sure: boolean;
  /** The author's need, in the reader's words. */
  wants: string;
  /** Sellers for which it is a signal: of the catalogue or, if `all` is true, of all known offers. */
  for: Record<string, 'hot' | 'warm'>;
  /** Offers, written for the post, for which it is a signal. */
  offers: string[];
  /** Offers, written for the post, that share its words, trade or audience, but for which it is not a signal. */
  near: string[];
  /** Whether it was also labelled for the known offers that are not in the catalogue. */
  all?: true;
}

/** A seller with made-up posts: for sellers of `data/offers/known.jsonl` in `written.jsonl`, for others in `further-written.jsonl`. */
export interface WrittenSeller extends Pick<KnownOffer, 'key' | 'offer' | 'short'> {
  /** `not`: shares words, trade or audience with the offer, but the author wants something else or nothing. */
  posts: { label: 'hot' | 'warm' | 'not'; text: string }[];
}

export function readSellers(): Reading[] {
  return linesOf('readings.jsonl');
}

export function writtenSellers(): WrittenSeller[] {
  const known = new Map(readKnownOffers().map((offer) => [offer.key, offer]));
  const ofKnown = linesOf<Pick<WrittenSeller, 'key' | 'posts'>>('written.jsonl').map(({ key, posts }) => {
    const offer = known.get(key);
    if (offer === undefined) throw new Error(`no known offer has the key ${key}`);
    return { key, offer: offer.offer, short: offer.short, posts };
  });
  return [...ofKnown, ...linesOf<WrittenSeller>('further-written.jsonl')];
}

function linesOf<T>(file: string): T[] {
  return readFileSync(join(import.meta.dirname, file), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}
