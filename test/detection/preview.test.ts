import { expect, test } from 'vitest';
import { status } from '../support/receiver.ts';
import { T0 } from '../support/store.ts';
import { createHarness, type Harness, settings, wanting } from './harness.ts';

const HOUR_MS = 3_600_000;
const HN = '/api/v1/search_by_date';
const search = { kind: 'hackernews', settings: settings({ query: 'crm' }) } as const;

async function profileOf(h: Harness): Promise<string> {
  const [profile] = await h.store.listProfiles('ten_a');
  return profile?.id ?? '';
}

function answer(h: Harness, texts: readonly [text: string, ageMs: number][]): void {
  const hits = texts.map(([text, ageMs], at) => ({
    objectID: String(at),
    created_at: new Date(T0 - ageMs).toISOString(),
    comment_text: text,
  }));
  const body = JSON.stringify({ nbPages: 1, hits });
  h.pages[HN] = status(200, { 'content-type': 'application/json' }, body);
}

test('a preview counts the posts of the last 24 hours in a place without storing anything', async () => {
  const h = await createHarness();
  answer(h, [
    [wanting('CRM'), HOUR_MS],
    ['Cats are nice', 2 * HOUR_MS],
    [wanting('van'), 30 * HOUR_MS],
  ]);
  const preview = await h.preview(await profileOf(h), search);
  expect(preview).toEqual({ read: 2, matched: 1, best: wanting('CRM') });
  expect(await h.texts()).toEqual([]);
  expect((await h.store.pageSources('ten_a', { limit: 10, after: null })).rows).toEqual([]);
});

test('a place that cannot be read shows the reason instead of a number', async () => {
  const h = await createHarness();
  expect(await h.preview(await profileOf(h), search)).toEqual({
    fault: 'There is nothing at this address (status 404).',
  });
  const bluesky = { kind: 'bluesky', settings: settings({ query: 'crm' }) } as const;
  expect(await h.preview(await profileOf(h), bluesky)).toHaveProperty('fault');
});

test('at most four previews of a tenant run at a time, and others have room', async () => {
  const h = await createHarness();
  answer(h, [[wanting('CRM'), HOUR_MS]]);
  const profile = await profileOf(h);
  const running = Array.from({ length: 6 }, () => h.preview(profile, search));
  const other = h.preview('icp_other', search, 'ten_b');
  const made = await Promise.all(running);
  const refused = made.filter((preview) => 'fault' in preview && /Too many previews/.test(preview.fault));
  expect(refused).toHaveLength(2);
  expect(await other).not.toMatchObject({ fault: expect.stringMatching(/Too many previews/) });
});
