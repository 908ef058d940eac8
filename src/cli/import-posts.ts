import { createHash } from 'node:crypto';
import { check } from '../http/faults.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { Fault } from '../model/errors.ts';
import { type ObservedPost, observedPostSchema } from '../model/signal.ts';

/** What else a signal has than the post it was made of: it is made anew when it comes in. */
const MADE_OF_IT = new Set([
  ...['signal_id', 'classification', 'icp_score', 'timestamp', 'icp_profile_name', 'profile_url'],
  ...['icp_profile_id', 'lead_id', 'also_seen', 'explanation', 'excerpt', 'signature'],
]);

/** A row as a post, or what is wrong with it. */
export type ReadPost = { ok: true; post: ObservedPost } | { ok: false; fault: string };

/**
 * A post, or a signal as the API shows it, which becomes the post that it was made of. One that says nothing of where it is
 * from gets an external id made of its content, so that it comes in once however often the file does.
 */
export function readPost(item: unknown): ReadPost {
  if (!isObject(item)) {
    return { ok: false, fault: 'is no object: each row is a post, or a signal as the API shows it.' };
  }
  const checked = check(observedPostSchema, 'signal_id' in item ? postOf(item) : item, 'body');
  if (!checked.ok) return { ok: false, fault: faultText(checked.faults, checked.total) };
  const post = checked.value;
  const isKnownAgain = post.external_id !== undefined || (post.platform.post_url ?? '') !== '';
  return { ok: true, post: isKnownAgain ? post : { ...post, external_id: contentId(post) } };
}

/** The faults of a row in a line, in the words of the API, each after its place: `prospect.email`. */
export function faultText(faults: readonly Fault[], total = faults.length): string {
  const told = faults.map(
    ({ pointer = '', detail }) => `${pointer.slice(1).replaceAll('/', '.')}: ${detail}`,
  );
  return [...told, ...(total > faults.length ? [`and ${total - faults.length} more faults`] : [])].join(' ');
}

function isObject(item: unknown): item is Record<string, unknown> {
  return typeof item === 'object' && item !== null && !Array.isArray(item);
}

function postOf(signal: Record<string, unknown>): Record<string, unknown> {
  const own = Object.entries(signal).filter(([name, value]) => !MADE_OF_IT.has(name) && value !== null);
  return { text: signal.excerpt, ...Object.fromEntries(own) };
}

function contentId(post: ObservedPost): string {
  return `import-${createHash('sha256').update(canonicalJson(post)).digest('hex').slice(0, 32)}`;
}
