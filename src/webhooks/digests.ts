import type { FeedbackLinks } from '../accounts/links.ts';
import { type Clock, DAY_MS, toIso } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { DIGEST_SIGNALS, type DigestData } from '../model/event-resource.ts';
import type { NewMail } from '../model/mail.ts';
import type { Signal } from '../model/signal.ts';
import type { TenantSettings } from '../model/tenant.ts';
import { dateIn, nextDaily } from '../rules/digest-time.ts';
import type { Store } from '../store/store.ts';
import { toldSignals } from './batches.ts';
import { digestNotice } from './presets/signal-notice.ts';
import { routeChanges } from './state-changes.ts';

/** What digests need of the process. */
export interface DigestParts {
  store: Store;
  clock: Clock;
  newId: NewId;
  baseUrl: string;
  /** Left out: messages have no links that rate a signal. */
  feedbackLinks?: FeedbackLinks | undefined;
}

const AT_ONCE = 100;
/** After an outage of longer, a digest tells of its end only: older signals are no news. */
const MAX_SPAN_MS = 8 * DAY_MS;

/** Makes every digest that is due: each once, as its next time is stored in the commit that stores it. */
export async function makeDigests(
  parts: DigestParts,
  isStopping: () => boolean = () => false,
): Promise<void> {
  let due: TenantSettings[];
  do {
    due = await parts.store.dueDigests(parts.clock.now(), AT_ONCE);
    for (const settings of due) {
      if (isStopping()) return;
      await makeDigest(parts, settings);
    }
  } while (due.length === AT_ONCE);
}

async function makeDigest(parts: DigestParts, settings: TenantSettings): Promise<void> {
  const { store, clock } = parts;
  const { tenantId, timezone, digest, digestDueAt, digestSince, digestPosition } = settings;
  const now = clock.now();
  const nextDueAt = nextDaily(now, { timezone, ...digest });
  const step = { tenantId, expectedDueAt: digestDueAt, nextDueAt };
  const nothing = { ...step, madeAt: null, event: null, mails: [] };
  if (digestSince === null) {
    await store.commitDigest({ ...nothing, since: now, position: await store.storedPosition(tenantId) });
    return;
  }
  if (digestDueAt === 0) {
    await store.commitDigest({ ...nothing, since: digestSince, position: digestPosition });
    return;
  }
  const range = {
    after: digestPosition,
    from: now - MAX_SPAN_MS,
    limit: DIGEST_SIGNALS,
    profileIds: digest.icp_profile_ids,
    isUntouched: true,
  };
  const { position, ...found } = await store.findBest(tenantId, range);
  const signals: Signal[] = found.wires.map((wire) => JSON.parse(wire)).filter(isTold);
  const date = dateIn(timezone, now);
  const due = { after: dateIn(timezone, digestSince), until: date, limit: 1 };
  // A step that nobody does is named in every mail, but it is no reason for one every day.
  if (signals.length === 0 && (await store.listDueSteps(tenantId, due)).length === 0) {
    await store.commitDigest({ ...nothing, since: now, position });
    return;
  }
  const from = toIso(Math.min(found.oldest ?? now, digestSince));
  const data = digestData(signals, {
    date,
    timezone,
    counts: { hot: found.hot, warm: found.warm },
    url: `${parts.baseUrl}/dashboard${signals.length === 0 ? '' : everything(digest.icp_profile_ids, from)}`,
  });
  const readers = await store.digestReaders(tenantId);
  const mails = readers.map((userId) => digestMail(settings, { userId, data, now }));
  const notice = digestNotice(data, await toldSignals(parts, tenantId, signals));
  const change = { type: 'digest.ready', subjectId: tenantId, data, notice, signals: () => signals } as const;
  const [event = null] = await routeChanges(parts, tenantId, signals.length === 0 ? [] : [change]);
  await store.commitDigest({ ...step, since: now, position, madeAt: now, event, mails });
}

/** The list that has all that a digest counts, also what somebody has dealt with since. */
function everything(profileIds: readonly string[], from: string): string {
  const profiles = profileIds.map((id) => `&icp=${id}`).join('');
  return `/signals?state=all&classification=hot,warm${profiles}&from=${from}`;
}

/** What is left of a signal whose author was erased tells nothing. */
function isTold({ excerpt }: Signal): boolean {
  return excerpt !== '';
}

function digestData(signals: readonly Signal[], head: Omit<DigestData, 'signals'>): DigestData {
  const { date, timezone, counts, url } = head;
  const told = signals.map(({ signal_id, classification, icp_score, excerpt, company, profile_url }) => ({
    ...{ signal_id, classification, icp_score, excerpt, company, profile_url },
  }));
  return { date, timezone, counts, signals: told, url };
}

/** IDs only: their content is read when the mail is sent, so that it contains nothing of an erased person. */
function digestMail(
  { tenantId, digest: { frequency } }: TenantSettings,
  { userId, data, now }: { userId: string; data: DigestData; now: number },
): NewMail {
  const { date, counts, signals, url } = data;
  const signalIds = signals.map((signal) => signal.signal_id);
  return {
    id: `mal_digest_${tenantId}_${now}_${userId}`,
    tenantId,
    facts: { kind: 'digest', userId, frequency, date, counts, signalIds, url },
    createdAt: now,
  };
}
