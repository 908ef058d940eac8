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

async function judge(text: string, relevant: boolean) {
  const post = { platform: { name: 'forum' }, external_id: `p${++posts}`, text };
  const { data } = await call('POST', '/v1/signals', post, 201);
  await call('POST', `/v1/signals/${data.signals[0].signal_id}/feedback`, { relevant });
}

const WISH = 'We are looking for a new booking system this month, budget is approved.';

test('precision of what was judged is told with its interval, in all and by class', async () => {
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

test('without feedback there is nothing to tell and nothing to suggest', async () => {
  const { data } = await call('GET', `/v1/icps/${profileId}/quality`);
  expect(data).toMatchObject({ judged: 0, precision: null, interval: null });
  expect((await call('GET', `/v1/icps/${profileId}/suggestions`)).data).toEqual([]);
});

test('a phrase that only irrelevant signals hold is suggested, accepted, and taken back', async () => {
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
