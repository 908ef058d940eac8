import { parseRows } from '../lib/json.ts';
import { fold } from '../lib/text.ts';
import type { Explanation, Signal, SignalQuery } from '../model/signal.ts';
import type { SignalStore } from '../store/signal-store.ts';
import { headlineOf } from './why.ts';

/** How many of the newest signals with the words, and of those with the words side by side, are compared. */
const COMPARED = 100;

type Found = Signal & { explanation: Explanation };

/**
 * Signals that hold all words of `q`, the best match first: the words as a headline, in a headline, in its words; then by
 * score. Of common words the newest are compared, whatever their age those in which the words stand side by side.
 */
export async function bestMatches(
  store: SignalStore,
  tenantId: string,
  query: Omit<SignalQuery, 'limit' | 'after' | 'explain' | 'sort'> & { q: string },
): Promise<Found[]> {
  const asked = { ...query, sort: '-timestamp' as const, limit: COMPARED, after: null, explain: true };
  const plain = query.q.replaceAll('"', ' ').trim();
  const pages = await Promise.all(
    (plain.includes(' ') ? [query.q, `"${plain}"`] : [query.q]).map((q) =>
      store.listSignals(tenantId, { ...asked, q }),
    ),
  );
  const found = pages.flatMap(({ json }) => parseRows<Found>(json));
  const once = [...new Map(found.map((signal) => [signal.signal_id, signal])).values()];
  return once
    .map((signal) => ({ signal, likeness: likenessOf(headlineOf(signal.excerpt), plain) }))
    .sort((a, b) => b.likeness - a.likeness || b.signal.icp_score - a.signal.icp_score)
    .map(({ signal }) => signal);
}

/** How near a headline is to what was searched for: 3 is the same, 2 holds it, below that the share of its words. */
function likenessOf(headline: string, asked: string): number {
  const words = (text: string): string[] => fold(text).match(/[\p{L}\p{N}]+/gu) ?? [];
  const [own, sought] = [words(headline), words(asked)];
  if (own.join(' ') === sought.join(' ')) return 3;
  if (` ${own.join(' ')} `.includes(` ${sought.join(' ')} `)) return 2;
  return sought.filter((word) => own.includes(word)).length / Math.max(1, sought.length);
}
