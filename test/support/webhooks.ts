import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import type { DeliveryNext } from '../../src/model/delivery.ts';
import type { TestRequest } from '../../src/webhooks/test-delivery.ts';
import { anOutcome } from '../store/contract/claiming.ts';
import { aPost, buildTestApp, type TestApp, type TestAppOptions } from './app.ts';

/** An app with helpers for tests of webhooks. */
export interface WebhookApp extends TestApp {
  /** Sends a request with the tenant's full-access key, or with `headers`. */
  call(
    method: NonNullable<InjectOptions['method']>,
    url: string,
    payload?: object,
    headers?: { authorization: string },
  ): Promise<LightMyRequestResponse>;
  /** Creates an endpoint of the tenant; returns the resource with its secret. */
  addWebhook(settings?: object): Promise<{ id: string; secret: string; [member: string]: unknown }>;
  /** Posts this many signals; returns the IDs of their deliveries, oldest first. */
  addDeliveries(count?: number): Promise<string[]>;
  /** Records one failed or successful attempt of a delivery, and its result. */
  attempt(deliveryId: string, next: DeliveryNext, number?: number): Promise<void>;
  /** The requested test deliveries. */
  tests: TestRequest[];
}

export const TARGET = 'http://127.0.0.1:9/hook';

/** An ordinary post that is new each time. */
export function anotherPost(number: number) {
  return aPost({ platform: { name: 'reddit', post_url: `https://reddit.com/r/hvac/${number}` } });
}

export async function buildWebhookApp(options: TestAppOptions = {}): Promise<WebhookApp> {
  const tests: TestRequest[] = [];
  const t = await buildTestApp({
    ...options,
    env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8', ...options.env },
    ...(options.sendTest === undefined
      ? {}
      : {
          sendTest: (request) => {
            tests.push(request);
            return options.sendTest?.(request) ?? Promise.reject(new Error('no sender'));
          },
        }),
  });
  const call: WebhookApp['call'] = (method, url, payload, headers = t.auth) =>
    t.app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  let posted = 0;
  let attempts = 0;

  return {
    ...t,
    call,
    tests,
    async addWebhook(settings = {}) {
      const answer = await call('POST', '/v1/webhooks', { url: TARGET, ...settings });
      if (answer.statusCode !== 201) throw new Error(answer.body);
      return answer.json().data;
    },
    async addDeliveries(count = 1) {
      for (let i = 0; i < count; i++) {
        t.clock.advance(1);
        await call('POST', '/v1/signals', anotherPost(posted++));
      }
      const { rows } = await t.store.listDeliveries(t.tenant.id, {
        ...{ endpointId: null, status: null, eventType: null, eventId: null, from: null, to: null },
        ...{ limit: 100, after: null },
      });
      return rows.map((row) => row.id).reverse();
    },
    async attempt(deliveryId, next, number = 1) {
      const log = await t.store.getDelivery(t.tenant.id, deliveryId);
      if (log === null) throw new Error(`There is no delivery ${deliveryId}.`);
      const failed = next.status !== 'delivered';
      await t.store.recordOutcome(
        anOutcome(
          { deliveryId, endpointId: log.endpointId, next, streak: failed ? 'add' : 'reset' },
          {
            id: `att_${String(attempts++).padStart(25, '0')}`,
            attempt: number,
            startedAt: t.clock.now(),
            ...(failed ? {} : { error: null, response: { status: 200, headers: {}, body: 'ok' } }),
          },
        ),
      );
    },
  };
}
