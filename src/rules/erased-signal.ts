import type { Explanation, Signal } from '../model/signal.ts';

/** What is shown and explained of a signal. JSON texts. */
interface SignalTexts {
  wire: string;
  explanation: string;
}

/**
 * A signal without the person behind it: author, post, its address and every quote of it are gone; what was counted
 * (company, score with its points, platform, time of detection) stays. `leadId` is the lead that is erased.
 */
export function eraseSignal({ wire, explanation }: SignalTexts, leadId: string): SignalTexts {
  const { also_seen: _places, ...signal } = JSON.parse(wire) as Signal;
  const erased: Signal = {
    ...signal,
    prospect: { name: '', title: '', email: '', linkedin_url: '' },
    // The minute of a post on a platform is enough to find its author again.
    platform: { name: signal.platform.name, post_url: '', posted_at: '' },
    excerpt: '',
    external_id: null,
    lead_id: signal.lead_id === leadId ? null : signal.lead_id,
  };
  return { wire: JSON.stringify(erased), explanation: eraseQuotes(explanation) };
}

/** The points still add up to the score; what they were given for is no longer quoted. */
function eraseQuotes(text: string): string {
  const explanation = JSON.parse(text) as Explanation;
  const withoutEvidence = (factor: Explanation['factors'][number]) => ({ ...factor, evidence: [] });
  const erased: Explanation = {
    ...explanation,
    factors: explanation.factors.map(withoutEvidence),
    negatives: explanation.negatives.map(withoutEvidence),
    summary: `Scored ${explanation.score}; its author was erased.`,
  };
  return JSON.stringify(erased);
}
