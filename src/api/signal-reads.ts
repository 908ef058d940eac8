import { z } from 'zod';
import { DomainError } from '../model/errors.ts';
import { explanationSchema, signalFilters, signalSchema } from '../model/signal.ts';
import { addList } from './list.ts';
import type { Routes } from './routes.ts';

const listedSignalSchema = signalSchema
  .extend({ explanation: explanationSchema.optional() })
  .meta({ id: 'ListedSignal' });
const signalDetailSchema = signalSchema
  .extend({ text: z.string(), explanation: explanationSchema })
  .meta({ id: 'SignalDetail' });

/**
 * `GET /v1/signals` and `GET /v1/signals/{id}`. Rows are stored as the JSON that every answer shows, so that an answer
 * is put together of bytes; the response schemas document it, and the tests hold the bytes to them.
 */
export function addSignalReads(signals: Routes): void {
  addList(signals, '/signals', {
    operationId: 'listSignals',
    summary: 'Signals, newest first',
    scope: 'signals:read',
    query: {
      ...signalFilters.query.shape,
      include: z
        .enum(['explanation'])
        .optional()
        .describe('`explanation` adds to each signal the reasons for its score.'),
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
    summary: 'One signal with its text and explanation',
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
