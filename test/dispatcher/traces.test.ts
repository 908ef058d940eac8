import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { aRoutedEvent, aSignal } from '../support/store.ts';
import { createRecordingTracer } from '../support/tracer.ts';
import { createHarness, TENANT } from './harness.ts';

const CAUSE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver((...asked) => status(receiver.requests.length === 1 ? 500 : 204)(...asked));
});
afterEach(() => receiver.close());

test('each attempt is a span in the trace of its event, sent to the receiver and logged', async () => {
  const { tracer, spans } = createRecordingTracer();
  const harness = await createHarness({ tracer });
  const { id } = await harness.endpoint({ url: receiver.url });
  const event = aRoutedEvent(TENANT, [id]);
  Object.assign(event.event, { trace: `${CAUSE} vendor=1`, createdAt: harness.clock.now() });
  await harness.store.commitSignals([aSignal(TENANT, { events: [event] })]);
  await harness.dispatcher.start();
  await harness.committed(1);
  harness.clock.advance(1_100);
  await harness.committed(2);

  expect(spans).toMatchObject([
    {
      kind: 'client',
      parent: `${CAUSE} vendor=1`,
      failed: true,
      attributes: { 'error.type': 'http_status' },
    },
    {
      kind: 'client',
      parent: `${CAUSE} vendor=1`,
      failed: false,
      attributes: { 'http.response.status_code': 204 },
    },
  ]);
  const sent = receiver.requests.map(({ headers }) => headers.traceparent);
  expect(sent).toEqual(spans.map(({ traceparent }) => traceparent));
  const { attempts } = await harness.delivery(event.deliveries[0]?.id ?? '');
  expect(attempts.map(({ requestHeaders }) => requestHeaders.traceparent)).toEqual(sent);
  expect(receiver.requests.map(({ headers }) => headers.tracestate)).toEqual(['vendor=1', 'vendor=1']);
  expect(attempts.map(({ requestHeaders }) => requestHeaders.tracestate)).toEqual(['vendor=1', 'vendor=1']);
  await harness.dispatcher.stop(1_000);
});

test('without tracing, no header is sent', async () => {
  const harness = await createHarness();
  const { id } = await harness.endpoint({ url: receiver.url });
  await harness.enqueue(id);
  await harness.dispatcher.start();
  await harness.committed(1);
  expect(receiver.requests[0]?.headers).not.toHaveProperty('traceparent');
  await harness.dispatcher.stop(1_000);
});
