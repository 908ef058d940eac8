import { type CheckOptions, runChecks } from 'afdocs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningSite, serveStarterSite } from '../../support/starter-site.ts';

let site: RunningSite;
beforeAll(async () => {
  site = await serveStarterSite();
});
afterAll(() => site.app.close());

/** The check that does not apply: it is about alternatives to a log-in, and there is no log-in. */
const NOT_APPLICABLE = ['auth-alternative-access'];

test('afdocs passes every applicable check on every page', async () => {
  const options: Partial<CheckOptions> & { curatedPages: string[] } = {
    samplingStrategy: 'curated',
    curatedPages: site.content.pages.map(({ path }) => `${site.url}${path}`),
    requestDelay: 0,
    maxConcurrency: 8,
  };
  const { results } = await runChecks(site.url, options);
  const faults = results
    .filter(({ id, status }) => status !== 'pass' && !NOT_APPLICABLE.includes(id))
    .map(({ id, status, message }) => `${status} ${id}: ${message}`);
  expect(faults).toEqual([]);
  expect(results.filter(({ status }) => status === 'pass').length).toBeGreaterThanOrEqual(27);
}, 60_000);
