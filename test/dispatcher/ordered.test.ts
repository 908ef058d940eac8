import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, type Harness, settle, TENANT } from './harness.ts';

let receiver: Receiver;
let harness: Harness;
beforeEach(async () => {
  receiver = await startReceiver();
  harness = await createHarness();
});
afterEach(async () => {
  await harness.dispatcher.stop(0);
  await receiver.close();
});

async function orderedEndpoint(settings: object = {}): Promise<string> {
  const { id } = await harness.endpoint({ url: receiver.url, ...settings });
  const stored = await harness.store.getEndpoint(TENANT, id);
  if (stored === null) throw new Error('it was made above');
  await harness.store.updateEndpoint({ ...stored, ordered: true }, harness.clock.now());
  return id;
}

const sent = () => receiver.requests.map(({ headers }) => String(headers['webhook-id']));

test('deliveries are sent in event order, even within a millisecond; hot ones do not go first', async () => {
  const id = await orderedEndpoint();
  const expected = [...(await harness.enqueue(id, 30)), ...(await harness.enqueue(id, 1, TENANT, true))];
  harness.clock.advance(1);
  expected.push(...(await harness.enqueue(id, 10)));
  await harness.dispatcher.start();
  await harness.committed(41);
  expect(sent()).toEqual(expected);
});

test('only one delivery is in flight at a time', async () => {
  const id = await orderedEndpoint();
  let open = 0;
  let most = 0;
  receiver.answer = (response) => {
    most = Math.max(most, ++open);
    setImmediate(() => {
      open--;
      response.end();
    });
  };
  await harness.enqueue(id, 20);
  await harness.dispatcher.start();
  await harness.committed(20);
  expect(most).toBe(1);
});

test('deliveries after a failing one wait until it is delivered', async () => {
  const id = await orderedEndpoint();
  receiver.answer = status(500);
  const [first = '', ...others] = await harness.enqueue(id, 3);
  await harness.dispatcher.start();
  await harness.committed(1);
  await settle();
  const [last = ''] = await harness.enqueue(id, 1);
  harness.dispatcher.nudge([{ endpointId: id, tenantId: TENANT }]);
  await settle();
  expect(sent()).toEqual([first]);
  receiver.answer = status(200);
  harness.clock.advance(1_200);
  await harness.committed(5);
  expect(sent()).toEqual([first, first, ...others, last]);
});

test('deliveries after a dead one are sent', async () => {
  const id = await orderedEndpoint({ max_retries: 1 });
  receiver.answer = status(500);
  const [first = '', second = ''] = await harness.enqueue(id, 2);
  await harness.dispatcher.start();
  await harness.committed(1);
  await settle();
  receiver.answer = (response) => {
    response.writeHead(sent().at(-1) === first ? 500 : 200).end();
  };
  harness.clock.advance(1_200);
  await harness.committed(3);
  expect(sent()).toEqual([first, first, second]);
  expect((await harness.delivery(first)).status).toBe('dead');
  expect((await harness.delivery(second)).status).toBe('delivered');
});
