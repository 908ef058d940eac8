import { type Example, loadExamples, loadFurther } from './data.ts';
import { readSellers } from './offers/readings.ts';
import readLabels from './read-labels.json' with { type: 'json' };
import { writtenScenes, writtenSentences } from './sentences.ts';

/** The training data: the folder's labelled posts, further posts that we labelled, and sentences that we wrote. */
export function loadAll(folder: string): Example[] {
  const labels = Object.fromEntries(
    Object.entries(readLabels).flatMap(([label, ids]) => ids.map((id) => [id, label] as const)),
  );
  const known = loadExamples(folder);
  const given = new Set(known.map(({ id }) => id));
  for (const { id, buying, sure } of readSellers())
    if (!given.has(id)) labels[id] ??= `${buying}${sure ? '' : '?'}`;
  return [...known, ...loadFurther(folder, labels), ...writtenSentences(), ...writtenScenes()];
}
