import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { CommandError } from './ports.ts';
import { fetchText } from './request.ts';

const TIMEOUT_MS = 30_000;

const webhookAnswer = z.object({ data: z.object({ id: z.string(), secret: z.string() }) });
const postAnswer = z.object({
  data: z.object({ signals: z.tuple([z.object({ signal_id: z.string() })]).rest(z.unknown()) }),
});
const factor = z.object({ points: z.number(), label: z.string() });
const signalAnswer = z.object({
  data: z.object({
    icp_score: z.number(),
    classification: z.string(),
    excerpt: z.string(),
    platform: z.object({ name: z.string() }),
    explanation: z.object({ factors: z.array(factor), negatives: z.array(factor) }),
  }),
});
export type ScoredSignal = z.infer<typeof signalAnswer>['data'];

const sourceAnswer = z.object({
  data: z.object({
    id: z.string(),
    name: z.string(),
    last_run_at: z.string().nullable(),
    last_error: z.object({ message: z.string() }).nullable(),
    items_seen: z.number(),
    signals_made: z.number(),
  }),
});
export type ReadSource = z.infer<typeof sourceAnswer>['data'];

/** The demo's view of the HTTP API: what any client with a key could do. */
export interface DemoApi {
  /** Makes an endpoint for warm and hot signals; resolves with its secret. */
  createWebhook(url: string): Promise<string>;
  /** Posts one observed post, as JSON text, and reads back how it was scored. */
  observe(post: string): Promise<ScoredSignal>;
  createSource(source: object): Promise<ReadSource>;
  readSource(id: string): Promise<ReadSource>;
  /** Has it read now, without waiting for it. */
  runSource(id: string): Promise<ReadSource>;
}

export function createDemoApi(parts: { clock: Clock; url: string; apiKey: string }): DemoApi {
  async function call<T>(answer: z.ZodType<T>, path: string, body?: string): Promise<T> {
    const headers = { authorization: `Bearer ${parts.apiKey}`, 'content-type': 'application/json' };
    const { status, text } = await fetchText(parts.clock, {
      url: `${parts.url}${path}`,
      timeoutMs: TIMEOUT_MS,
      headers,
      ...(body === undefined ? {} : { method: 'POST', body }),
    });
    if (status >= 200 && status < 300) return answer.parse(JSON.parse(text));
    throw new CommandError(`${path} answered ${status}: ${text}`);
  }

  return {
    async createWebhook(url) {
      const settings = { url, label: 'Demo receiver', classifications: ['hot', 'warm'] };
      return (await call(webhookAnswer, '/v1/webhooks', JSON.stringify(settings))).data.secret;
    },
    async observe(post) {
      const [signal] = (await call(postAnswer, '/v1/signals', post)).data.signals;
      return (await call(signalAnswer, `/v1/signals/${signal.signal_id}`)).data;
    },
    createSource: async (source) => (await call(sourceAnswer, '/v1/sources', JSON.stringify(source))).data,
    readSource: async (id) => (await call(sourceAnswer, `/v1/sources/${id}`)).data,
    runSource: async (id) => (await call(sourceAnswer, `/v1/sources/${id}/run`, '')).data,
  };
}
