import type { SignalType } from '../model/signal.ts';
import type { Linear } from './model/learnt.ts';
import type { Features } from './reading/features.ts';

/** What kind of signal a post is, where its source does not say: the type with the best odds. */
export function typeOf(types: Readonly<Record<string, Linear>>, features: Features): SignalType {
  const odds = (type: SignalType) => {
    const linear = types[type];
    if (linear === undefined) return Number.NEGATIVE_INFINITY;
    let sum = linear.bias;
    for (const [name, { value }] of features) sum += (linear.weights[name] ?? 0) * value;
    return sum;
  };
  const order: SignalType[] = ['intent_post', 'qa_forum', 'review', 'funding_event', 'job_change'];
  const best = order
    .map((type) => ({ type, odds: odds(type) }))
    .reduce((best, other) => (other.odds > best.odds ? other : best));
  return best.type;
}
