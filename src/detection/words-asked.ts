import { fold } from '../lib/text.ts';

/** Whether a text holds every word of a query, in whatever case; words in quotes stand together. Null: everything does. */
export function createWordTest(query: string | null): (text: string) => boolean {
  const words = [...(query ?? '').matchAll(/"([^"]+)"|(\S+)/g)].map(([, phrase, word]) =>
    fold(phrase ?? word ?? '').trim(),
  );
  const wanted = words.filter((word) => word !== '');
  return (text) => {
    if (wanted.length === 0) return true;
    const folded = fold(text);
    return wanted.every((word) => folded.includes(word));
  };
}
