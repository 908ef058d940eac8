import { beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
let profileId: string;

beforeEach(async () => {
  t = await buildTestApp();
  profileId = (await call('GET', '/v1/icps')).data[0].id;
});

async function call(method: 'GET' | 'POST', url: string, payload?: object, status = 200) {
  const answer = await t.app.inject({ method, url, headers: t.auth, ...(payload && { payload }) });
  expect(answer.statusCode, answer.body).toBe(status);
  return answer.json();
}

let posts = 0;

async function judge(text: string, relevant: boolean, more: object = {}) {
  const post = { platform: { name: 'forum' }, external_id: `p${++posts}`, text, ...more };
  const { data } = await call('POST', '/v1/signals', post, 201);
  await call('POST', `/v1/signals/${data.signals[0].signal_id}/feedback`, { relevant });
}

const WISH = 'We are looking for a new booking system this month, budget is approved.';

test('precision of the feedback is returned with its interval, overall and per class', async () => {
  await judge(WISH, true);
  await judge(`${WISH} Please.`, false);
  const { data } = await call('GET', `/v1/icps/${profileId}/quality`);
  expect(data).toMatchObject({ icp_profile_id: profileId, judged: 2, relevant: 1, precision: 0.5 });
  expect(data.interval.low).toBeCloseTo(0.095, 2);
  expect(data.interval.high).toBeCloseTo(0.905, 2);
  const { hot, warm, cold } = data.by_classification;
  expect(hot.judged + warm.judged + cold.judged).toBe(2);
  await call('GET', '/v1/icps/icp_none/quality', undefined, 404);
});

test('without feedback there is no precision and no suggestion', async () => {
  const { data } = await call('GET', `/v1/icps/${profileId}/quality`);
  expect(data).toMatchObject({ judged: 0, precision: null, interval: null });
  expect((await call('GET', `/v1/icps/${profileId}/suggestions`)).data).toEqual([]);
});

test('a phrase found only in irrelevant signals is suggested for exclusion, and can be undone', async () => {
  await judge(WISH, true);
  await judge(`${WISH} It is for a school project.`, false);
  await judge(`${WISH} This is my school project, thanks.`, false);
  const url = `/v1/icps/${profileId}/suggestions`;
  const { data } = await call('GET', url);
  const suggestion = data.find(({ value }: { value: string }) => value === 'school project');
  expect(suggestion).toMatchObject({
    kind: 'exclude_phrase',
    status: 'open',
    effect: { shown_before: { relevant: 1, not_relevant: 2 }, shown_after: { relevant: 1, not_relevant: 0 } },
  });
  const excluded = async () => (await call('GET', `/v1/icps/${profileId}`)).data.excluded_phrases;
  const act = (action: string, status = 200) => call('POST', `${url}/${suggestion.id}`, { action }, status);
  expect((await act('accept')).data.status).toBe('accepted');
  expect(await excluded()).toEqual(['school project']);
  await act('accept', 409);
  expect((await call('GET', url)).data.at(-1)).toMatchObject({ id: suggestion.id, status: 'accepted' });
  expect((await act('undo')).data.status).toBe('open');
  expect(await excluded()).toEqual([]);
  expect((await act('dismiss')).data.status).toBe('dismissed');
  expect((await act('undo')).data.status).toBe('open');
  await act('undo', 409);
  await call('POST', `${url}/none`, { action: 'accept' }, 404);
});

/** Accepts the open suggestion of a kind, and returns it with its undo. */
async function accept(kind: string) {
  const url = `/v1/icps/${profileId}/suggestions`;
  const { data } = await call('GET', url);
  const found = data.find((each: { kind: string }) => each.kind === kind);
  expect(found, JSON.stringify(data)).toBeDefined();
  await call('POST', `${url}/${found.id}`, { action: 'accept' });
  return { ...found, undo: () => call('POST', `${url}/${found.id}`, { action: 'undo' }) };
}

test('an author or source without relevant signals is muted and unmuted', async () => {
  const sam = {
    prospect: { name: 'Spam Sam' },
    platform: { name: 'blog', post_url: 'https://spam.example/1' },
  };
  await judge(WISH, true);
  await judge('Which payroll provider do you recommend for our company of 20 employees?', false, sam);
  await judge('Can anyone recommend a good accounting tool for a small company?', false, sam);
  const more = { ...sam, external_id: 'next', text: `${WISH} Also a till.` };
  const scored = async (id: string) =>
    (await call('POST', '/v1/signals', { ...more, external_id: id, text: `${more.text} ${id}` }, 201)).data
      .signals[0].classification;

  const author = await accept('mute_author');
  expect(author.effect).toEqual({
    shown_before: { relevant: 1, not_relevant: 2 },
    shown_after: { relevant: 1, not_relevant: 0 },
  });
  expect(author.summary).not.toContain('Sam');
  expect(await scored('for the till in our first shop downtown, which opens at Easter')).toBe('cold');
  await author.undo();
  expect((await call('GET', `/v1/icps/${profileId}`)).data.muted_authors).toBeUndefined();
  const source = await accept('mute_source');
  expect(source.value).toBe('spam.example');
  expect(await scored('with a screen at the front desk for walk-in guests of the spa')).toBe('cold');
  await source.undo();
  expect(await scored('and a printer of labels that works with the scales we have here')).not.toBe('cold');
});
