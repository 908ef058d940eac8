import type { FitAnswer } from '../fit.ts';
import type { Hit } from '../phrases.ts';
import type { Feature, PostFeatures } from '../reading/features.ts';

/** What of a post means more where it speaks of the topic. */
const BESIDE_TOPIC = [
  ...['thing', 'business', 'pain', 'price_pain', 'current_tool', 'seek.own', 'seek.implied', 'need.own'],
  ...[
    'consider.own',
    'switch.own',
    'recommend',
    'alternative',
    'which',
    'seller',
    'maker',
    'job_seeker',
    'job_ad',
  ],
  ...[
    'full_time_job',
    'already_bought',
    'how_to',
    'story',
    'news',
    'survey',
    'student',
    'budget',
    'date',
    'money',
  ],
  ...['requirements', 'team_size', 'first_plural', 'only_title', 'asking_sentences'],
];

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
  for (const name of BESIDE_TOPIC) {
    const said = post.features.get(name);
    if (said === undefined) continue;
    features.set(`topic_and.${name}`, { value: Math.min(1, said.value), place: said.place });
  }
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

/** Known answers to what a profile asks; what is not known is no feature, so that silence changes nothing. */
export function fitFeatures(answers: readonly FitAnswer[]): Map<string, Feature> {
  const features = new Map<string, Feature>();
  const count = (verdict: FitAnswer['verdict']) =>
    answers.filter((answer) => answer.verdict === verdict).length;
  if (count('fits') > 0) features.set('fit', { value: count('fits') / 2, place: null });
  if (count('does_not_fit') > 0) features.set('misfit', { value: count('does_not_fit') / 2, place: null });
  return features;
}
