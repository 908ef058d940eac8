import type { FastifyInstance } from 'fastify';
import { beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';

const LONG =
  'We are looking for a new booking system this month, as the old one keeps crashing and loses half of our jobs every ' +
  'week. Budget is approved. Which one do you use, and how long did it take you to move? Thanks for any help at all!';
const SHORT = 'Looking for a CRM for my plumbers, any recommendations?';

let built: TestApp;
let app: FastifyInstance;

beforeEach(async () => {
  built = await buildTestApp();
  app = built.app;
});

let count = 0;

/** Posts a text at a new place. */
async function post(text: string, { author = '', ...rest }: Record<string, unknown> = {}) {
  count++;
  const { platform, ...others } = rest as { platform?: object };
  const payload = {
    platform: { name: 'reddit', post_url: `https://reddit.com/r/a/${count}`, ...platform },
    text,
    external_id: `post-${count}`,
    ...(author !== '' && { prospect: { name: author } }),
    ...others,
  };
  const answer = await app.inject({ method: 'POST', url: '/v1/signals', headers: built.auth, payload });
  expect(answer.statusCode, answer.body).toBeLessThan(300);
  const { status, signals } = answer.json().data;
  return { status, signal: signals[0] };
}

async function read(id: string) {
  return (await app.inject({ url: `/v1/signals/${id}`, headers: built.auth })).json().data;
}

test('a cross-post of the same author is a duplicate, listed as another place of the first', async () => {
  const first = await post(SHORT, { author: 'Ann' });
  const second = await post(`${SHORT} :)`, {
    author: 'ann',
    platform: {
      name: 'hackernews',
      post_url: 'https://news.ycombinator.com/item?id=1',
      posted_at: '2025-12-31T10:00:00Z',
    },
  });
  expect(second.status).toBe('duplicate');
  expect(second.signal.signal_id).toBe(first.signal.signal_id);
  const places = [
    {
      platform: 'hackernews',
      post_url: 'https://news.ycombinator.com/item?id=1',
      posted_at: '2025-12-31T10:00:00.000Z',
    },
  ];
  expect(second.signal.also_seen).toEqual(places);
  expect((await read(first.signal.signal_id)).also_seen).toEqual(places);
});

test('the places of a post with very long addresses are only listed until they take 15 KB; it stays one signal', async () => {
  const first = await post(SHORT, { author: 'Ann' });
  for (let i = 0; i < 25; i++) {
    const post_url = `https://reddit.com/r/a/${i}/${'p'.repeat(1_900)}`;
    const again = await post(SHORT, { author: 'Ann', platform: { post_url } });
    expect(again.status).toBe('duplicate');
    expect(again.signal.signal_id).toBe(first.signal.signal_id);
  }
  const places = (await read(first.signal.signal_id)).also_seen;
  expect(places.length).toBeGreaterThan(5);
  expect(JSON.stringify(places).length).toBeLessThan(17_000);
});

test('a cross-post is delivered once', async () => {
  await app.inject({
    method: 'POST',
    url: '/v1/webhooks',
    headers: built.auth,
    payload: { url: 'https://hooks.example.com/' },
  });
  await post(LONG);
  await post(LONG);
  const events = (await app.inject({ url: '/v1/events?type=signal.detected', headers: built.auth })).json();
  expect(events.data).toHaveLength(1);
});

test('a repeated long text of an unknown author is a duplicate, a short one is not', async () => {
  await post(LONG);
  expect((await post(LONG, { author: 'Ann' })).status).toBe('duplicate');
  await post(SHORT);
  expect((await post(SHORT)).status).toBe('created');
});

test('the same text of two different authors is two signals', async () => {
  await post(LONG, { author: 'Ann' });
  expect((await post(LONG, { author: 'Bob' })).status).toBe('created');
});

test('after thirty days the same text is a new signal', async () => {
  await post(LONG, { platform: { posted_at: '2025-11-01T00:00:00Z' } });
  expect((await post(LONG, { platform: { posted_at: '2025-12-02T00:00:00Z' } })).status).toBe('created');
  built.clock.advance(31 * 86_400_000);
  expect((await post(LONG)).status).toBe('created');
});

test('a collapsed post is recognized by its id and by its URL', async () => {
  const first = await post(LONG, { author: 'Ann' });
  const again = {
    author: 'Ann',
    external_id: 'other',
    platform: { name: 'forum', post_url: 'https://f.example/1' },
  };
  await post(LONG, again);
  const edited = await post('Solved, thanks.', again);
  expect(edited).toMatchObject({ status: 'duplicate', signal: { signal_id: first.signal.signal_id } });
  expect(edited.signal.also_seen).toHaveLength(1);
});

test('posts on one page are distinct if their ids or their URL fragments differ', async () => {
  const page = { platform: { post_url: 'https://forum.example/t/1' } };
  await post('Any CRM for plumbers?', { ...page, external_id: 'a' });
  expect((await post('Which van do you drive?', { ...page, external_id: 'b' })).status).toBe('created');
  const at = (fragment: string) => ({
    platform: { post_url: `https://forum.example/t/2#${fragment}` },
    external_id: undefined,
  });
  await post('Any CRM for plumbers?', at('1'));
  expect((await post('Which van do you drive?', at('2'))).status).toBe('created');
  expect((await post('Which van do you drive?', at('2'))).status).toBe('duplicate');
});

test('the URL decides when one of two posts has no id', async () => {
  const page = { platform: { post_url: 'https://forum.example/t/1' } };
  await post(SHORT, { ...page, external_id: 'a' });
  expect((await post(SHORT, { ...page, external_id: undefined })).status).toBe('duplicate');
});

test('the same id on another platform is another post', async () => {
  await post('Any CRM for plumbers?', { external_id: '1' });
  const elsewhere = { external_id: '1', platform: { name: 'forum', post_url: 'https://f.example/1' } };
  expect((await post('Which van do you drive?', elsewhere)).status).toBe('created');
});

test('erasing the author also erases the other places, even of an author who posted only there', async () => {
  const first = await post(LONG);
  await post(LONG, {
    prospect: { name: 'Ann', email: 'ann@acme.com' },
    platform: { name: 'forum', post_url: 'https://f.example/ann' },
  });
  const lead = await app.inject({
    method: 'POST',
    url: '/v1/leads',
    headers: built.auth,
    payload: { email: 'ann@acme.com' },
  });
  await app.inject({ method: 'DELETE', url: `/v1/leads/${lead.json().data.id}`, headers: built.auth });
  const erased = await read(first.signal.signal_id);
  expect(erased.also_seen ?? []).toEqual([]);
  expect(erased.text).toBe('');
  expect((await post(LONG)).status).toBe('created');
});
