import { type Example, loadExamples, loadFurther } from './data.ts';
import readLabels from './read-labels.json' with { type: 'json' };
import { writtenScenes, writtenSentences } from './sentences.ts';

/** All that the model is trained on: the folder's labelled posts, further ones that we read, and our own sentences. */
export function loadAll(folder: string): Example[] {
  const labels = Object.fromEntries(
    Object.entries(readLabels).flatMap(([label, ids]) => ids.map((id) => [id, label] as const)),
  );
  return [...loadExamples(folder), ...loadFurther(folder, labels), ...writtenSentences(), ...writtenScenes()];
}
