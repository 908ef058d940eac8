import type { Explanation } from '../../src/model/signal.ts';
import { type CompiledProfile, readPost, type ScoredPost, scorePost } from '../../src/signals/score.ts';
import { compileLists } from './compile.ts';

/** Scores a post with only one profile, by words. */
export function scoreAlone(post: ScoredPost, compiled: CompiledProfile): Explanation {
  const reading = readPost(post);
  const hits = compileLists([compiled.profile]).match(reading.tokens).get(0);
  return scorePost(reading, compiled, hits ?? []);
}
