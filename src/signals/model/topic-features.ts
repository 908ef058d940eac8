import type { Hit } from '../phrases.ts';
import type { Feature, PostFeatures } from '../reading/features.ts';

/** How a post speaks of what a profile that names its topic looks for. Profiles that name none have no such features. */
export function topicFeatures(post: PostFeatures, hits: readonly Hit[]): Map<string, Feature> {
  const features = new Map<string, Feature>([['topical', { value: 1, place: null }]]);
  const phrases = hits.filter(({ kind }) => kind === 'phrase');
  const competitors = hits.filter(({ kind }) => kind === 'competitor');
  const [first] = [...phrases, ...competitors];
  if (first === undefined) {
    features.set('topic.none', { value: 1, place: null });
    return features;
  }
  addCounts(features, 'topic.phrase', phrases);
  addCounts(features, 'topic.competitor', competitors);
  addPlaces(features, post, [...phrases, ...competitors]);
  return features;
}

function addCounts(features: Map<string, Feature>, name: string, hits: readonly Hit[]): void {
  const [first] = hits;
  if (first === undefined) return;
  const kinds = new Set(hits.map(({ phrase }) => phrase)).size;
  features.set(name, { value: 1, place: first });
  if (kinds > 1) features.set(`${name}s`, { value: Math.min(1.5, Math.log(kinds)), place: first });
}

/** A topic in the title, or in the sentence that asks, is what the post is about. */
function addPlaces(
  features: Map<string, Feature>,
  { outline, asks }: PostFeatures,
  hits: readonly Hit[],
): void {
  let asked = 0;
  outline.sentences.forEach((sentence, index) => {
    const hit = hits.find(({ start }) => start >= sentence.start && start < sentence.end);
    if (hit === undefined) return;
    if (sentence.isTitle) features.set('topic.title', { value: 1, place: hit });
    if (asks[index] !== true) return;
    asked++;
    if (asked === 1) features.set('topic.asked', { value: 1, place: hit });
  });
  if (asked > 1) features.set('topic.asked_again', { value: Math.min(1, (asked - 1) / 2), place: null });
}
