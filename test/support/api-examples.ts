import { createGuide, type Examples } from './api-tour.ts';
import { leaveEverything, stumbleEverywhere, visitEverything } from './api-visits.ts';
import { buildTestApp } from './app.ts';
import { sendTestToNobody } from './fake-receiver.ts';
import { createFixedIds, createFixedRandom } from './fixed-chance.ts';
import { OPENAPI_BASE_URL } from './openapi-files.ts';

/** Calls every operation of a fresh server, always with the same result, and returns requests and responses. */
export async function makeExamples(): Promise<Examples> {
  const t = await buildTestApp({
    env: { BASE_URL: OPENAPI_BASE_URL, WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' },
    random: createFixedRandom('examples'),
    newId: createFixedIds(),
    sendTest: sendTestToNobody,
  });
  try {
    const guide = createGuide(t);
    await visitEverything(guide);
    await leaveEverything(guide);
    await stumbleEverywhere(guide);
    return guide.examples;
  } finally {
    await t.app.close();
  }
}
