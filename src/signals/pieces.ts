import type { ObservedPost } from '../model/signal.ts';

/**
 * Limits of one commit of a batch: other changes wait for it, and a large one would block them for half a
 * second.
 */
const MOST_POSTS_A_COMMIT = 25;
const MOST_CHARS_A_COMMIT = 30_000;
/**
 * Signals that the posts of a piece may create, unless those of one post are more: they are in memory at once, about 20 KB each. A
 * batch of an account with 990 profiles took 0.8 GB.
 */
const MOST_SIGNALS_A_PIECE = 2_500;

/**
 * Splits posts into pieces that are planned together, smaller ones if an account has hundreds of profiles. The split depends only on the
 * request and the number of profiles, so a retried request is split at the same posts.
 */
export function piecesOf<P extends ObservedPost>(posts: readonly P[], profiles: number): P[][] {
  const pieces: P[][] = [];
  const most = Math.max(1, Math.min(MOST_POSTS_A_COMMIT, Math.floor(MOST_SIGNALS_A_PIECE / profiles)));
  let chars = Number.POSITIVE_INFINITY;
  for (const post of posts) {
    chars += post.text.length;
    const last = pieces.at(-1);
    if (last !== undefined && last.length < most && chars <= MOST_CHARS_A_COMMIT) {
      last.push(post);
    } else {
      pieces.push([post]);
      chars = post.text.length;
    }
  }
  return pieces;
}
