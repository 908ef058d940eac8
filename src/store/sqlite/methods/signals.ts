import type { SignalStore } from '../../signal-store.ts';
import type { Context } from '../context.ts';
import { createFeedbackSql } from '../tables/feedback.ts';
import { createProfileSql } from '../tables/profiles.ts';
import { createSignalListSql } from '../tables/signal-list.ts';
import { createSignalSql } from '../tables/signals.ts';

export function signalMethods({ db, writer, read }: Context) {
  const profiles = createProfileSql(db);
  const signals = createSignalSql(db);
  const feedback = createFeedbackSql(db);
  const listSignals = createSignalListSql(db);

  return {
    commitSignals: (signals) => writer.run('commitSignals', signals),
    getSignal: (tenantId, id) => read(() => signals.get(tenantId, id)),
    listSignals: (tenantId, query) =>
      read(() => {
        const profileIds = query.icps.length === 0 ? null : profiles.resolve(tenantId, query.icps);
        return listSignals(tenantId, profileIds, query);
      }),
    saveFeedback: (feedback) => writer.run('saveFeedback', feedback),
    getFeedback: (tenantId, signalId) => read(() => feedback.get(tenantId, signalId)),
    listPosts: (tenantId, limit) => read(() => feedback.posts(tenantId, limit)),
  } satisfies SignalStore;
}
