import { afterEach, beforeEach, expect, test } from 'vitest';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';
import { formFields } from './form-fields.ts';
import { postSignal } from './hostile.ts';

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

const NEW = '/dashboard/profiles/new';

test('a profile is drafted from a sentence without storing anything, and created from the draft', async () => {
  const drafted = await browser.post(NEW, {
    act: 'draft',
    offer: 'Scheduling software for heating engineers',
  });
  expect(drafted.body).toMatch(/<textarea id="phrases"[^>]*>[^<]*scheduling/i);
  expect(await made.store.listProfiles(made.tenant.id)).toHaveLength(1);
  const fields = editorOf(drafted.body);
  const created = await browser.post(NEW, { ...fields, name: 'Heating' });
  expect(created.headers.location).toMatch(/^\/dashboard\/profiles\/icp_\w+\?done=created$/);
  const profiles = await made.store.listProfiles(made.tenant.id);
  const heating = profiles.find(({ name }) => name === 'Heating');
  expect(heating?.active).toBe(true);
  expect(heating?.phrases).toEqual(String(fields.phrases).split('\n'));
});

test('saving the unmodified editor changes nothing, and a preview shows the effect of a change', async () => {
  const [before] = await made.store.listProfiles(made.tenant.id);
  const page = `/dashboard/profiles/${before?.id}`;
  await made.app.inject({ method: 'POST', url: '/v1/signals', headers: made.auth, payload: aPost() });
  const fields = editorOf((await browser.get(page)).body);
  expect((await browser.post(page, fields)).headers.location).toBe(`${page}?done=saved`);
  const [after] = await made.store.listProfiles(made.tenant.id);
  expect(after).toEqual({ ...before, updatedAt: after?.updatedAt, version: after?.version });
  const wish = { ...fields, phrases: 'heat pump', weight_topic: '90', act: 'preview' };
  const preview = await browser.post(page, wish);
  expect(preview.body).toContain('Effect on recent posts');
  expect(preview.body).toMatch(/Newest 1 post/);
  expect((await made.store.listProfiles(made.tenant.id))[0]?.phrases).toEqual(before?.phrases);
});

test("a refused profile keeps the input; the last one cannot be deleted; another tenant's is not found", async () => {
  const [only] = await made.store.listProfiles(made.tenant.id);
  const page = `/dashboard/profiles/${only?.id}`;
  const wrong = await browser.post(page, {
    ...editorOf((await browser.get(page)).body),
    hot: '10',
    warm: '50',
  });
  expect([
    wrong.statusCode,
    wrong.body.includes('id="hot" name="hot" type="number" min="1" max="100" value="10"'),
  ]).toEqual([400, true]);
  expect((await browser.post(`${page}/delete`, {}, page)).statusCode).toBe(409);
  const { tenant } = await made.addTenant();
  const [other] = await made.store.listProfiles(tenant.id);
  expect((await browser.get(`/dashboard/profiles/${other?.id}`)).statusCode).toBe(404);
  expect((await browser.post(`/dashboard/profiles/${other?.id}/delete`, {}, page)).statusCode).toBe(404);
});

test('the list of profiles has pages: the descriptions of a thousand have two million characters', async () => {
  for (let i = 0; i < 30; i++) {
    const payload = { name: `Profile ${i}`, description: '"'.repeat(2_000) };
    await made.app.inject({ method: 'POST', url: '/v1/icps', headers: made.auth, payload });
  }
  const namesIn = (html: string) => html.match(/(?<=<strong>)(?:Default|Profile \d+)(?=<)/g) ?? [];
  const first = (await browser.get('/dashboard/profiles')).body;
  const [, next = ''] = /href="([^"]+)">Newer</.exec(first) ?? [];
  const second = (await browser.get(next)).body;
  const all = (await made.store.listProfiles(made.tenant.id)).map(({ name }) => name);
  expect(namesIn(first)).toHaveLength(25);
  expect([...namesIn(first), ...namesIn(second)]).toEqual(all);
  expect([first.includes('>Oldest<'), second.includes('>Oldest<')]).toEqual([false, true]);
});

test('a suggestion is shown with its past effect, and can be accepted, kept by the editor, and undone', async () => {
  const [profile] = await made.store.listProfiles(made.tenant.id);
  const page = `/dashboard/profiles/${profile?.id}`;
  expect((await browser.get(page)).body).toContain('None right now');
  const wish = 'We are looking for a new booking system this month, budget is approved.';
  const judge = async (text: string, relevant: string) => {
    const id = await postSignal(made, { external_id: text.slice(-20), text });
    await browser.post(`/dashboard/signals/${id}/feedback`, { relevant }, `/dashboard/signals/${id}`);
  };
  await judge(wish, 'yes');
  await judge(`${wish} It is for a school project.`, 'no');
  await judge(`${wish} This is my school project, thanks.`, 'no');
  const shown = (await browser.get(page)).body;
  expect(shown).toMatch(/1 of 3 rated signals was relevant: 33% precision, likely \d+% to \d+%/);
  expect(shown).toContain('1 of 3 are relevant now; with this change, 1 of 1.');
  const url = `/v1/icps/${profile?.id}/suggestions`;
  const { data } = (await made.app.inject({ url, headers: made.auth })).json();
  const { id } = data.find(({ value }: { value: string }) => value === 'school project');
  expect(shown).toContain(`suggestions/${id}"`);
  const act = (action: string) => browser.post(`${page}/suggestions/${id}`, { action }, page);
  const excluded = async () => (await made.store.listProfiles(made.tenant.id))[0]?.excludedPhrases;
  expect((await act('accept')).headers.location).toBe(`${page}?done=accepted#suggestions`);
  expect(await excluded()).toEqual(['school project']);
  expect((await browser.get(page)).body).toContain(
    '1 of 3 were relevant without this change; with it, 1 of 1.',
  );
  expect((await act('accept')).statusCode).toBe(409);
  await act('undo');
  expect(await excluded()).toEqual([]);
  await act('dismiss');
  expect((await browser.get(page)).body).toContain('aria-label="Undo:');
  expect((await act('nonsense')).statusCode).toBe(400);
  const { tenant } = await made.addTenant();
  const [other] = await made.store.listProfiles(tenant.id);
  const theirs = `/dashboard/profiles/${other?.id}/suggestions/${id}`;
  expect((await browser.post(theirs, { action: 'accept' }, page)).statusCode).toBe(404);
});

test('of the decided suggestions, the newest hundred are shown', async () => {
  const [profile] = await made.store.listProfiles(made.tenant.id);
  const none = { relevant: 0, not_relevant: 0 };
  for (let i = 0; i < 120; i++) {
    const change = {
      kind: 'mute_author',
      member: 'muted_authors',
      value: `author ${i}`,
      summary: 'Mute an author.',
    };
    const effect = { shown_before: none, shown_after: none };
    await made.store.saveSuggestionDecision({
      ...{ tenantId: made.tenant.id, profileId: profile?.id ?? '', suggestion: `s${i}`, decidedAt: i },
      decision: JSON.stringify({
        suggestion: { id: `s${i}`, status: 'dismissed', ...change, effect },
        previousWarm: 30,
      }),
    });
  }
  const { body } = await browser.get(`/dashboard/profiles/${profile?.id}`);
  const shown = body.match(/(?<=<code>author )\d+(?=<)/g) ?? [];
  expect([shown.length, shown[0], shown.at(-1)]).toEqual([100, '20', '119']);
});

test('the scores of the last thirty days are shown next to precision, with both thresholds', async () => {
  const [profile] = await made.store.listProfiles(made.tenant.id);
  const page = `/dashboard/profiles/${profile?.id}`;
  expect((await browser.get(page)).body).not.toContain('<strong>Scores</strong>');
  const { auth: headers } = made;
  const answer = await made.app.inject({ method: 'POST', url: '/v1/signals', headers, payload: aPost() });
  const score = answer.json().data.signals[0].icp_score as number;
  const from = Math.min(95, Math.floor(score / 5) * 5);
  const { body } = await browser.get(page);
  const [, chart = ''] = /<figure class="plot">(.*?Scores.*?)<\/figure>/s.exec(body) ?? [];
  expect(chart).toContain(
    `<th scope="row">${from}–${from === 95 ? 100 : from + 4}</th><td class="num">1</td>`,
  );
  expect(chart).toContain('<path class="mark look-warm" d="M80 0V100"><title>Warm from 40</title>');
  expect(chart).toContain('Hot from 70');
  made.clock.advance(31 * 86_400_000);
  expect((await browser.get(page)).body).not.toContain('<strong>Scores</strong>');
});

test('muted sources stay muted when the editor is saved', async () => {
  const [profile] = await made.store.listProfiles(made.tenant.id);
  const page = `/dashboard/profiles/${profile?.id}`;
  const patch = { muted_sources: ['forum.example.com'] };
  const { auth: headers } = made;
  await made.app.inject({ method: 'PATCH', url: `/v1/icps/${profile?.id}`, headers, payload: patch });
  await browser.post(page, editorOf((await browser.get(page)).body));
  expect((await made.store.listProfiles(made.tenant.id))[0]?.mutedSources).toEqual(['forum.example.com']);
});

/** The fields a browser would send for the unmodified editor. */
function editorOf(html: string): Record<string, string | string[]> {
  const [, action = ''] = /action="([^"]+)" data-live-preview>/.exec(html) ?? [];
  return formFields(html, action);
}
