import { mentionHint, mentionPattern, mentionsInJson } from '../model/mentions.ts';
import type { Mentions } from './erasure-store.ts';

/** Tests for a person in JSON texts. */
interface MentionTests {
  /** Whether a string in a text mentions an address, a profile or a name. */
  named(json: string): boolean;
  /** Whether a text contains an address, a profile or the ID of one of the person's signals. */
  identified(json: string): boolean;
}

/** The mentions of a person, and the IDs of their signals. */
type Sought = Mentions & { signalIds?: Pick<ReadonlySet<string>, 'has'> };

/** Compiles the tests of each scan once, which takes milliseconds: a scan may have thousands of ranges. */
export function createMentionTests(): (sought: Sought) => MentionTests {
  const known = new WeakMap<Sought, MentionTests>();
  return (sought) => {
    const tests = known.get(sought) ?? testsOf(sought);
    known.set(sought, tests);
    return tests;
  };
}

function testsOf({ texts, names, signalIds = new Set() }: Sought): MentionTests {
  const hasText = testOf(texts, []);
  return {
    named: testOf(texts, names),
    identified: (json) =>
      Array.from(json.matchAll(/sig_[0-9a-z]+/g)).some(([id]) => signalIds.has(id)) || hasText(json),
  };
}

function testOf(texts: readonly string[], names: readonly string[]): (json: string) => boolean {
  const hint = mentionHint(texts, names);
  const pattern = mentionPattern(texts, names);
  return (json) => hint !== null && pattern !== null && hint.test(json) && mentionsInJson(json, pattern);
}

/** The IDs of events that identify the person, and of the others that name them. Events without data do neither. */
export function sortEvents(
  events: readonly { id: string; data: string | null }[],
  { identified, named }: MentionTests,
): { ids: string[]; named: string[] } {
  const found: { ids: string[]; named: string[] } = { ids: [], named: [] };
  for (const { id, data } of events) {
    if (data === null) continue;
    if (identified(data)) found.ids.push(id);
    else if (named(data)) found.named.push(id);
  }
  return found;
}
