import { createInterface } from 'node:readline';
import { defaultProfile } from '../../src/model/icp.ts';
import { createEncoder, whyNoEncoder } from '../../src/signals/encoder/encoder.ts';
import { addMeaning } from '../../src/signals/meaning.ts';
import { readPost, scorePost } from '../../src/signals/score.ts';
import { compileTenant } from '../../test/support/compile.ts';
import { loadPosts } from '../train/data.ts';

/** Scores the posts of a folder, or of standard input (one JSON text per line), with `Default`; prints one explanation per line. */
const AGE_MS = 6 * 3_600_000;
const NO_FACTS = { title: '', companyName: '', industry: '', headcount: '', location: '' };

async function* texts(folder: string | undefined): AsyncGenerator<string> {
  if (folder !== undefined) yield* loadPosts(folder);
  else for await (const line of createInterface({ input: process.stdin })) yield JSON.parse(line) as string;
}

const encoder = whyNoEncoder() === null ? createEncoder() : null;
const tenant = compileTenant([defaultProfile('icp_default', 'ten_quality', 0)]);
const [compiled] = tenant.profiles;
if (compiled === undefined) throw new Error('there is no profile');
for await (const text of texts(process.argv[2])) {
  const words = readPost({ ...NO_FACTS, text, ageMs: AGE_MS }, encoder !== null);
  const reading = await addMeaning(words, [{ compiled, hits: [] }], { encoder });
  console.log(JSON.stringify({ type: reading.type, ...scorePost(reading, compiled, []) }));
}
await encoder?.close();
