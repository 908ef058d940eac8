import type { Database } from 'better-sqlite3';
import type { Clock } from '../../../lib/clock.ts';
import { addAll } from '../../../lib/lists.ts';
import { createYielder } from '../../../lib/yielding.ts';
import type { CompanyStore } from '../../company-store.ts';
import type { LeadStore } from '../../lead-store.ts';
import { type CompanySpan, createCompanyScans } from '../reads/companies.ts';
import { bestFirst, createPersonSignalScans, type RankedSignal } from '../reads/lead-signals.ts';

type Read = <T>(query: () => T) => Promise<T>;

/** Signals scanned at a time: about 3 ms. */
const OF_PERSON = 2_000;
const OF_COMPANY = 10_000;

/** The signals of a person, who may have hundreds of thousands: scanned in parts, between which other requests run. */
export function personSignalFace(
  db: Database,
  clock: Clock,
  read: Read,
): Pick<LeadStore, 'findFreeSignalsOfPerson'> {
  const scans = createPersonSignalScans(db);
  return {
    async findFreeSignalsOfPerson(tenantId, keys, limit) {
      const nextTurn = createYielder(clock);
      const free = new Set<string>();
      for (const key of keys) {
        const own: string[] = [];
        let before: string | undefined;
        do {
          const place = { tenantId, key, before };
          const part = await read(() =>
            scans.freeOfPerson(place, { scan: OF_PERSON, limit: limit - own.length }),
          );
          addAll(own, part.found);
          before = own.length < limit ? (part.next ?? undefined) : undefined;
          await nextTurn();
        } while (before !== undefined);
        for (const id of own) free.add(id);
      }
      // IDs sort by creation time, so the last ones are the newest.
      const newest = [...free].sort().slice(-limit);
      return read(() => scans.freeSignals(tenantId, newest));
    },
  };
}

/** The signals of companies, of which each may have millions: scanned in parts, between which other requests run. */
export function companySignalFace(
  db: Database,
  clock: Clock,
  read: Read,
): Pick<CompanyStore, 'readCompanyActivity' | 'countCompanySignals' | 'listTopSignals'> {
  const scans = createCompanyScans(db);

  /** Calls `scan` for consecutive spans that have about {@link OF_COMPANY} signals each. */
  async function inParts(
    span: CompanySpan,
    nextTurn: () => Promise<void>,
    scan: (part: CompanySpan) => void,
  ) {
    let from = span.from;
    for (;;) {
      const next: number | null = await read(() => {
        const rest = { ...span, from };
        const end = scans.endOf(rest, OF_COMPANY);
        scan({ ...rest, to: end ?? span.to });
        return end;
      });
      if (next === null) return;
      from = next + 1;
      await nextTurn();
    }
  }

  return {
    async readCompanyActivity(tenantId, domains, since) {
      const nextTurn = createYielder(clock);
      const starts = [...new Set(since)].sort((a, b) => b - a);
      const activities = [];
      for (const domain of domains) {
        const counts = new Map<number, number>();
        let count = 0;
        let to = Number.MAX_SAFE_INTEGER;
        for (const from of starts) {
          await inParts({ tenantId, domain, from, to }, nextTurn, (part) => {
            count += scans.count(part);
          });
          counts.set(from, count);
          to = from - 1;
        }
        const lastAt = await read(() => scans.lastAt(tenantId, domain));
        activities.push({ counts: since.map((from) => counts.get(from) ?? 0), lastAt });
        await nextTurn();
      }
      return activities;
    },
    async countCompanySignals(tenantId, domain, { from, stepMs }) {
      const counts = new Map<number, number>();
      const span = { tenantId, domain, from, to: Number.MAX_SAFE_INTEGER };
      await inParts(span, createYielder(clock), (part) => {
        for (const { step, count } of scans.steps(part, { since: from, stepMs }))
          counts.set(step, (counts.get(step) ?? 0) + count);
      });
      return [...counts].sort(([a], [b]) => a - b).map(([step, count]) => ({ step, count }));
    },
    async listTopSignals(tenantId, domain, { since, limit }) {
      let best: RankedSignal[] = [];
      const span = { tenantId, domain, from: since, to: Number.MAX_SAFE_INTEGER };
      await inParts(span, createYielder(clock), (part) => {
        best = bestOf([...best, ...scans.top(part, limit)], limit);
      });
      return read(() => scans.wires(best.map(({ id }) => id)));
    },
  };
}

function bestOf(signals: RankedSignal[], limit: number): RankedSignal[] {
  return signals.sort(bestFirst).slice(0, limit);
}
