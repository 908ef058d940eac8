import type { FitAnswer } from '../fit.ts';
import type { Feature } from '../reading/features.ts';

/** Known answers to what a profile asks; what is not known is no feature, so that silence changes nothing. */
export function fitFeatures(answers: readonly FitAnswer[]): Map<string, Feature> {
  const features = new Map<string, Feature>();
  const count = (verdict: FitAnswer['verdict']) =>
    answers.filter((answer) => answer.verdict === verdict).length;
  if (count('fits') > 0) features.set('fit', { value: count('fits') / 2, place: null });
  if (count('does_not_fit') > 0) features.set('misfit', { value: count('does_not_fit') / 2, place: null });
  return features;
}
