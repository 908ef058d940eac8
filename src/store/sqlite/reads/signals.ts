import type { Database } from 'better-sqlite3';
import type { SignalTriage, SignalView } from '../../../model/signal.ts';
import { createKnownSignalSearch } from '../../changes/known-signals.ts';
import type { DeliveryLogStore } from '../../delivery-log-store.ts';
import type { LeadStore } from '../../lead-store.ts';
import type {
  Judgement,
  OutdatedSignal,
  SignalDetail,
  SignalFeedback,
  SignalStore,
  StoredDuplicate,
  StoredPost,
} from '../../signal-store.ts';
import type { Part } from '../../store.ts';
import { answeredAtOnce, runScript } from '../answers.ts';
import { knownSignalsSql } from '../sql/known-signals.ts';
import { Table } from '../table.ts';
import { createProfileResolver } from './profiles.ts';
import { createSignalList } from './signal-list.ts';
import { createLatestSignals, createStoredSignals } from './stored-signals.ts';

const FEEDBACK = new Table<SignalFeedback>('signal_feedback f JOIN signals s ON s.id = f.signal_id', {
  tenantId: 'plain',
  signalId: 'plain',
  relevant: 'flag',
  reason: 'plain',
  actorId: 'plain',
  createdAt: 'plain',
});

const JUDGEMENTS = new Table<Judgement>(
  'signal_feedback f CROSS JOIN signals s ON s.id = f.signal_id',
  {
    signalId: 'plain',
    score: 'plain',
    classification: 'plain',
    relevant: 'flag',
    createdAt: 'plain',
    textBytes: 'plain',
  },
  // The length is told without reading the text.
  { createdAt: 'f.created_at', textBytes: 'octet_length(s.text)' },
);

const POSTS = new Table<StoredPost>(
  'signals s LEFT JOIN signal_feedback f ON f.signal_id = s.id',
  {
    id: 'plain',
    profileId: 'plain',
    platform: 'plain',
    externalId: 'plain',
    canonicalUrl: 'plain',
    score: 'plain',
    classification: 'plain',
    wire: 'plain',
    text: 'plain',
    relevant: 'flag',
  },
  { profileId: 's.profile_id' },
);

const TRIAGE = new Table<SignalTriage>(
  `json_each(?) j CROSS JOIN signals s ON s.id = j.value
   LEFT JOIN signal_feedback f ON f.signal_id = s.id LEFT JOIN signal_triage x ON x.seq = s.seq`,
  { signalId: 'plain', relevant: 'flag', assignee: 'plain', snoozedUntil: 'plain' },
  { signalId: 's.id', assignee: "ifnull(x.assignee, '')" },
);

export const VIEWS = new Table<SignalView>('signal_views', {
  id: 'plain',
  tenantId: 'plain',
  name: 'plain',
  query: 'plain',
  createdAt: 'plain',
});

/** Signals as they are shown, and what was said of them. */
export function signalReads(db: Database) {
  const selectOne = db.prepare<[string, string], SignalDetail>(
    'SELECT wire, explanation, text FROM signals WHERE id = ? AND tenant_id = ?',
  );
  const selectFeedback = FEEDBACK.select<[string, string]>(db, 'WHERE f.signal_id = ? AND s.tenant_id = ?');
  const selectPosts = POSTS.select<[string, number]>(db, 'WHERE s.tenant_id = ? ORDER BY s.seq DESC LIMIT ?');
  const selectJudged = JUDGEMENTS.select<[string, string, number]>(
    db,
    'WHERE f.profile_id = ? AND s.tenant_id = ? ORDER BY f.seq DESC LIMIT ?',
  );
  const selectSignals = db
    .prepare<[string, number], string>(
      'SELECT wire FROM signals WHERE tenant_id = ? ORDER BY seq DESC LIMIT ?',
    )
    .pluck();
  const selectOfPlatform = db.prepare<[string, string], unknown>(`${ofPlatform('1')} LIMIT 1`);
  // Not one whose author has edited the post: its score is of another text.
  const selectScore = db.prepare<Record<string, unknown>[], StoredDuplicate>(
    `SELECT id, score FROM signals
     WHERE id = :id AND NOT ifnull(external_id = :externalId AND text <> :text, FALSE)`,
  );
  const resolveProfiles = createProfileResolver(db);
  const { list, count } = createSignalList(db);
  const selectTriage = TRIAGE.select<[string, string]>(db, 'WHERE s.tenant_id = +?');
  const selectViews = VIEWS.select<[string]>(db, 'WHERE tenant_id = ? ORDER BY name');
  const selectTemplate = db
    .prepare<[string], string>('SELECT template FROM reply_templates WHERE tenant_id = ?')
    .pluck();
  const listStored = createStoredSignals(db);
  const latestSignals = createLatestSignals(db);
  const profilesAsked = (tenantId: string, icps: string[]) =>
    icps.length === 0 ? null : resolveProfiles(tenantId, icps);
  const selectPosition = db
    .prepare<[string], number>('SELECT position FROM stored_rows WHERE tenant_id = ?')
    .pluck();
  const findKnown = createKnownSignalSearch(answeredAtOnce({ knownSignals: knownSignalsSql(db) }));
  const selectOutdated = db.prepare<Record<string, unknown>[], OutdatedSignal>(
    `SELECT id, profile_id AS profileId, wire FROM signals INDEXED BY signals_by_external_id
     WHERE tenant_id = +:tenantId AND json_extract(wire, '$.external_id') = +:shownId AND external_id = +:externalId
       AND platform = :platform AND text <> :text`,
  );

  return {
    getSignal: (tenantId, id) => selectOne.get(id, tenantId) ?? null,
    listSignals: (tenantId, query) => list(tenantId, profilesAsked(tenantId, query.icps), query),
    countSignals: (tenantId, query, most) =>
      count(tenantId, profilesAsked(tenantId, query.icps), query, most),
    listTriage: (tenantId, ids) => selectTriage.all(JSON.stringify(ids), tenantId),
    listSignalViews: (tenantId) => selectViews.all(tenantId),
    getReplyTemplate: (tenantId) => selectTemplate.get(tenantId) ?? null,
    listStoredSignals: (tenantId, query) => listStored(tenantId, profilesAsked(tenantId, query.icps), query),
    latestSignals,
    storedPosition: (tenantId) => selectPosition.get(tenantId) ?? 0,
    recentSignals: (tenantId, limit) => selectSignals.all(tenantId, limit),
    findOutdatedSignals: (post) => selectOutdated.all({ ...post }),
    findDuplicates: (signals) =>
      signals.map((signal) => {
        const known = runScript(findKnown(signal));
        if (known === null) return null;
        const { externalId, text } = signal;
        return selectScore.get({ id: known.id, externalId, text }) ?? null;
      }),
    findKnownSignals: (signals) =>
      signals.map((signal) =>
        selectOne.get(signal.id, signal.tenantId) === undefined
          ? (runScript(findKnown(signal))?.id ?? null)
          : signal.id,
      ),
    hasSignalsOf: (tenantId, platform) => selectOfPlatform.get(tenantId, platform) !== undefined,
    getFeedback: (tenantId, signalId) => selectFeedback.get(signalId, tenantId),
    listJudgements: (tenantId, profileId, limit) => selectJudged.all(profileId, tenantId, limit),
    listPosts: (tenantId, limit) => selectPosts.all(tenantId, limit),
  } satisfies Part<SignalStore & LeadStore & DeliveryLogStore>;
}

/**
 * Signals of a tenant and platform that have an external id: along the index that these are known again by, from the
 * profiles on (CROSS JOIN: SQLite would begin with all signals of the tenant).
 */
export function ofPlatform(columns: string): string {
  return `SELECT ${columns} FROM icp_profiles p
    CROSS JOIN signals s INDEXED BY signals_known_by_external_id ON s.tenant_id = p.tenant_id AND s.profile_id = p.id
    WHERE p.tenant_id = ? AND s.platform = ? AND s.external_id IS NOT NULL`;
}
