import { parseRows } from '../lib/json.ts';
import type { ExplainedSignal, Explanation, Signal } from '../model/signal.ts';
import { headlineOf, type Why, whereOf, whyOf } from '../signals/why.ts';

/** A signal as screens show it: its title, its origin and its author. */
export interface NamedSignal extends Signal {
  headline: string;
  /** Empty for made-up posts. */
  where: string;
  /** Empty if the author is unknown. */
  who: string;
}

export interface SignalCard extends NamedSignal {
  explanation: Explanation;
  why: Why;
}

/** `text`: the text of the post. Default: its excerpt. */
export function namedSignal<S extends Signal>(signal: S, text = signal.excerpt): S & NamedSignal {
  const { prospect, company, platform } = signal;
  const employer = company.name || company.domain;
  const person = [prospect.name, prospect.title].filter((fact) => fact !== '').join(', ');
  return {
    ...signal,
    headline: headlineOf(text),
    where: platform.name === 'sample' ? '' : whereOf(platform),
    who: person !== '' && employer !== '' ? `${person} at ${employer}` : person || employer,
  };
}

/** A named signal, with the explanation of its score. */
export function signalCard(signal: ExplainedSignal, text = signal.excerpt): SignalCard {
  const { prospect, company, signal_type: type, explanation } = signal;
  return { ...namedSignal(signal, text), why: whyOf({ text, type, explanation, company, prospect }) };
}

/** The rows of a page that was read with explanations. */
export function signalCards(json: Uint8Array): SignalCard[] {
  return explained(json).map((signal) => signalCard(signal));
}

/** Parses the rows without naming them: explaining a score costs 0.2 ms per signal. */
export function explained(json: Uint8Array): ExplainedSignal[] {
  return parseRows<ExplainedSignal>(json);
}
