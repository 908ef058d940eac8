import type { Clock, Timer } from '../../lib/clock.ts';
import { addAll } from '../../lib/lists.ts';
import { systemRandom } from '../../lib/random.ts';
import { createReleases } from '../../lib/yielding.ts';
import type { MadeDue } from '../store.ts';
import { type Channel, type Connection, openChannel } from './connection.ts';
import { prepared } from './sql/prepared.ts';

/** A message between nodes. Lost or oversized ones only cause a delay: nodes also poll for what is due. */
interface NodeMessage {
  from: string;
  due: [endpointId: string, tenantId: string][];
  endpoints: string[];
  sources: boolean;
  counts: SharedCount[];
  /** Not everything fitted into the message. */
  more: boolean;
}

type SharedCount = [window: string, key: string, count: number];
type OnCounted = (key: string, count: number) => void;

/** Communication between the nodes on one database. */
export interface Nodes {
  /** Announces to the other nodes what a commit of this node made due. */
  tell(made: MadeDue): void;
  /** Adds up the counts of all nodes under a name: `onCounted` receives counts of others. */
  share(window: string, onCounted: OnCounted): OnCounted;
  /** Whether this node runs the jobs that only one node may run. */
  isOnDuty(): Promise<boolean>;
  /** How far this machine's clock is ahead of the database's, in milliseconds, as last measured; null: not yet. */
  clockSkewMs(): number | null;
  close(): Promise<void>;
}

const CHANNEL = 'signalpost';
/** Messages are batched for this long: a busy node commits hundreds of times per second. */
const DUE_EVERY_MS = 20;
const COUNTS_EVERY_MS = 100;
/** PostgreSQL's limit is 8,000 bytes. */
const MOST_CHARACTERS = 7_500;

const DUTY_MS = 20_000;
/** How often a duty is requested again; it is granted for four times as long. */
const ASK_EVERY_MS = 5_000;
const MEASURE_EVERY_MS = 60_000;

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const takeDuty = prepared(
  `INSERT INTO duties (name, process, until) VALUES ('house', ?, ${NOW} + ${DUTY_MS})
   ON CONFLICT (name) DO UPDATE SET process = excluded.process, until = excluded.until
   WHERE duties.process = excluded.process OR duties.until < ${NOW}`,
);
const leaveDuty = prepared('DELETE FROM duties WHERE process = ?');
const readClock = prepared(`SELECT ${NOW}`);

const LOOK_FOR_UNREAD_MS = 5_000;
/**
 * Transactions with changes whose node does not read what it asked for: suspended, or unreachable. PostgreSQL has no time limit
 * for this state, and all nodes wait for their locks. Those already found by the last look are ended.
 */
const endUnread = prepared(
  `SELECT mark, CASE WHEN mark = ANY (?::text[]) THEN pg_terminate_backend(pid) END
   FROM (SELECT pid, concat(pid, ' ', query_start) AS mark FROM pg_stat_activity
         WHERE datname = current_database() AND usename = current_user AND backend_xid IS NOT NULL
           AND wait_event = 'ClientWrite') unread`,
);

interface NodesDeps {
  config: Parameters<typeof openChannel>[0];
  clock: Clock;
  /** A connection other than that of changes. */
  db: Connection;
  /** Called with what other nodes' commits made due. */
  onDue(made: MadeDue): void;
  /** Called when something may be due that no message named. */
  onLook(): void;
}

export function createNodes({ config, clock, db, onDue, onLook }: NodesDeps): Nodes {
  const own = systemRandom.bytes(8).toString('hex');
  const counters = new Map<string, OnCounted>();
  let counted = new Map<string, Map<string, number>>();
  let made: MadeDue = { due: [], endpoints: [], sources: false };
  let timer: Timer | null = null;
  let countsTimer: Timer | null = null;
  let isClosed = false;
  let duty: { askedAt: number; isOurs: boolean } | null = null;
  let asking: Promise<boolean> | null = null;
  let skew: number | null = null;
  let measuring: Timer | null = null;
  let looking: Timer | null = null;

  // After a suspension, hundreds arrive together: 500 that named 80 endpoints each took 0.3 s at once.
  const release = createReleases();
  const channel: Channel = openChannel(config, clock, CHANNEL, {
    listening: onLook,
    message: (payload) => release(() => hear(payload)),
  });
  void measure();
  void lookForUnread([]);

  function hear(payload: string): void {
    if (isClosed) return;
    const message = readMessage(payload);
    if (message === null || message.from === own) return;
    for (const [window, key, count] of message.counts) counters.get(window)?.(key, count);
    const due = message.due.map(([endpointId, tenantId]) => ({ endpointId, tenantId }));
    const { endpoints, sources } = message;
    if (due.length + endpoints.length > 0 || sources) onDue({ due, endpoints, sources });
    if (message.more) onLook();
  }

  function sendDue(): void {
    timer = null;
    const due = [...new Map(made.due.map(({ endpointId, tenantId }) => [endpointId, tenantId]))];
    const { endpoints, sources } = made;
    made = { due: [], endpoints: [], sources: false };
    send({ due, endpoints: [...new Set(endpoints)], sources });
  }

  function sendCounts(): void {
    countsTimer = null;
    const counts: SharedCount[] = [];
    for (const [window, keys] of counted) for (const [key, count] of keys) counts.push([window, key, count]);
    counted = new Map();
    // In parts that fit, because no count may be lost.
    while (counts.length > 0) send({ counts: counts.splice(0, 50) });
  }

  function send(part: Partial<NodeMessage>): void {
    const nothing = { due: [], endpoints: [], sources: false, counts: [], more: false };
    const payload = JSON.stringify({ from: own, ...nothing, ...part });
    if (payload.length <= MOST_CHARACTERS) {
      channel.notify(payload);
      return;
    }
    const endpoints = part.endpoints?.slice(0, 150) ?? [];
    const sources = part.sources ?? false;
    channel.notify(JSON.stringify({ from: own, ...nothing, endpoints, sources, more: true }));
    for (let from = 150; from < (part.endpoints?.length ?? 0); from += 150)
      channel.notify(
        JSON.stringify({ from: own, ...nothing, endpoints: part.endpoints?.slice(from, from + 150) }),
      );
  }

  async function askForDuty(): Promise<boolean> {
    const askedAt = clock.monotonic();
    try {
      const isOurs = (await db.ask(takeDuty, [own])).count > 0;
      duty = { askedAt, isOurs };
      return isOurs;
    } catch {
      return false; // an unreachable database grants no duty
    }
  }

  async function measure(): Promise<void> {
    const [before, since] = [clock.now(), clock.monotonic()];
    try {
      const there = Number((await db.ask(readClock, [])).rows[0]?.[0]);
      skew = Math.round(before + (clock.monotonic() - since) / 2 - there);
    } catch {
      // Keep the last measurement.
    }
    if (!isClosed) measuring = clock.after(MEASURE_EVERY_MS, () => void measure());
  }

  async function lookForUnread(known: readonly unknown[]): Promise<void> {
    const found = await db.ask(endUnread, [known]).then(
      ({ rows }) => rows.map(([mark]) => mark),
      () => [], // the next look finds them
    );
    if (!isClosed) looking = clock.after(LOOK_FOR_UNREAD_MS, () => void lookForUnread(found));
  }

  return {
    tell({ due, endpoints, sources }) {
      addAll(
        made.due,
        due.filter(({ rejected }) => rejected !== true),
      );
      addAll(made.endpoints, endpoints);
      made.sources ||= sources;
      if (made.due.length + made.endpoints.length === 0 && !made.sources) return;
      timer ??= clock.after(DUE_EVERY_MS, sendDue);
    },
    share(window, onCounted) {
      counters.set(window, onCounted);
      return (key, count) => {
        const keys = counted.get(window) ?? new Map<string, number>();
        counted.set(window, keys.set(key, (keys.get(key) ?? 0) + count));
        countsTimer ??= clock.after(COUNTS_EVERY_MS, sendCounts);
      };
    },
    async isOnDuty() {
      if (duty !== null && clock.monotonic() - duty.askedAt < ASK_EVERY_MS) return duty.isOurs;
      asking ??= askForDuty().finally(() => {
        asking = null;
      });
      return asking;
    },
    clockSkewMs: () => skew,
    async close() {
      isClosed = true;
      for (const each of [timer, countsTimer, measuring, looking]) each?.cancel();
      if (duty?.isOurs) await db.ask(leaveDuty, [own]).catch(() => {});
      await channel.close();
      await db.close();
    },
  };
}

function areLists(value: unknown): value is unknown[][] {
  return Array.isArray(value) && value.every(Array.isArray);
}

/** Null if it was not sent by a node: any client of the database may notify, and must not end the process. */
function readMessage(payload: string): NodeMessage | null {
  try {
    const message = JSON.parse(payload) as Partial<NodeMessage> | null;
    const { due, endpoints, counts } = message ?? {};
    if (!Array.isArray(endpoints) || !areLists(due) || !areLists(counts)) return null;
    return counts.every(([, , count]) => Number.isFinite(count)) ? (message as NodeMessage) : null;
  } catch {
    return null;
  }
}
