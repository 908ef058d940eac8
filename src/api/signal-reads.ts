import { z } from 'zod';
import { DomainError } from '../model/errors.ts';
import { explanationSchema, signalFilters, signalSchema } from '../model/signal.ts';
import { addList } from './list.ts';
import type { Routes } from './routes.ts';

const listedSignalSchema = signalSchema
  .extend({
    explanation: explanationSchema.optional().describe('Breakdown of the score, with `include=explanation`.'),
  })
  .meta({ id: 'ListedSignal', description: 'A signal in a list.' });
const signalDetailSchema = signalSchema
  .extend({
    text: z.string().describe('Full text of the post.'),
    explanation: explanationSchema.describe('Breakdown of the score.'),
  })
  .meta({ id: 'SignalDetail', description: 'A signal with the full text of the post.' });

/**
 * `GET /v1/signals` and `GET /v1/signals/{id}`. Signals are stored as JSON text, so that responses are concatenated bytes; the
 * response schemas document them, and tests check the bytes against them.
 */
export function addSignalReads(signals: Routes): void {
  addList(signals, '/signals', {
    operationId: 'listSignals',
    summary: 'List signals',
    description: 'Newest first by default.',
    scope: 'signals:read',
    query: {
      ...signalFilters.query.shape,
      include: z
        .enum(['explanation'])
        .optional()
        .describe('`explanation` adds the breakdown of the score to each signal.'),
    },
    item: listedSignalSchema,
    filters: ({ query }) => signalFilters.toFilters(query),
    read: ({ parts: { store }, tenantId, query }, asked) =>
      store.listSignals(tenantId, { ...asked, explain: query.include === 'explanation' }),
    stored: {
      kind: 'signals',
      read: ({ parts: { store }, tenantId, query }, asked) =>
        store.listStoredSignals(tenantId, { ...asked, explain: query.include === 'explanation' }),
    },
    show: ({ json }) => json,
  });
  signals.get('/signals/:id', {
    operationId: 'getSignal',
    summary: 'Get a signal',
    description: 'Returns the signal with the full text of the post and the breakdown of its score.',
    scope: 'signals:read',
    answer: signalDetailSchema,
    async handle({ parts, tenantId, params: { id } }) {
      const found = await parts.store.getSignal(tenantId, id);
      if (found === null) throw new DomainError('NOT_FOUND', `There is no signal "${id}".`);
      const { wire, text, explanation } = found;
      return `{"data":${wire.slice(0, -1)},"text":${JSON.stringify(text)},"explanation":${explanation}}}`;
    },
  });
}
