import { parseRows } from '../lib/json.ts';
import type { Explanation, Signal } from '../model/signal.ts';
import { headlineOf, type Why, whereOf, whyOf } from '../signals/why.ts';

export type ExplainedSignal = Signal & { explanation: Explanation };

/** A signal as people see it: what the post is called, where it stands and who wrote it. */
export interface NamedSignal extends Signal {
  headline: string;
  /** Empty for made-up posts. */
  where: string;
  /** Empty where nothing is known of them. */
  who: string;
}

export interface ShownSignal extends NamedSignal {
  explanation: Explanation;
  why: Why;
}

/** `text`: what there is of the post; left out: its excerpt. */
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

/** The same, with why it is one. */
export function shownSignal(signal: ExplainedSignal, text = signal.excerpt): ShownSignal {
  const { prospect, company, signal_type: type, explanation } = signal;
  return { ...namedSignal(signal, text), why: whyOf({ text, type, explanation, company, prospect }) };
}

/** The rows of a page that was read with explanations. */
export function shownSignals(json: Uint8Array): ShownSignal[] {
  return explained(json).map((signal) => shownSignal(signal));
}

/** The same as they were stored: to work out why costs 0.2 ms a signal. */
export function explained(json: Uint8Array): ExplainedSignal[] {
  return parseRows<ExplainedSignal>(json);
}
