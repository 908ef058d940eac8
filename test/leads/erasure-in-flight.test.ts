import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { eraseLead } from '../../src/leads/erase-lead.ts';
import { createHarness, settle, TENANT } from '../dispatcher/harness.ts';
import { aLead, aNewLead } from '../support/leads.ts';
import { startReceiver } from '../support/receiver.ts';
import { aRoutedEvent } from '../support/store.ts';

/** The deliveries an endpoint can have in flight; if it responds, more are claimed ahead into memory. */
const IN_FLIGHT = 20;
const ANSWERED = 20;

test('after an erasure, deliveries that were claimed but not sent are not sent', async () => {
  const receiver = await startReceiver();
  const { store, clock, dispatcher, endpoint, committed } = await createHarness();
  const { id: endpointId } = await endpoint({ url: receiver.url, rate_limit_per_minute: 1_000 });
  const events = Array.from({ length: 200 }, () => {
    const routed = aRoutedEvent(TENANT, [endpointId], { createdAt: clock.now() });
    return { ...routed, event: { ...routed.event, subjectId: 'led_1' } };
  });
  await store.commitLead(aNewLead(TENANT, aLead('led_1'), { events }));

  const open: ServerResponse[] = [];
  receiver.answer = (response) => {
    if (receiver.requests.length <= ANSWERED) response.end();
    else open.push(response);
  };
  await dispatcher.start();
  await receiver.received(ANSWERED + IN_FLIGHT);
  await settle();
  store.onCommitted(({ endpoints }) => endpoints.forEach(dispatcher.endpointChanged));
  await eraseLead({ store, clock }, TENANT, 'led_1');
  for (const response of open) response.end();
  await committed(ANSWERED + IN_FLIGHT);
  await settle(200);

  expect(receiver.requests).toHaveLength(ANSWERED + IN_FLIGHT);
  expect(await store.listDueLanes()).toEqual([]);
  await dispatcher.stop(0);
  await receiver.close();
});
