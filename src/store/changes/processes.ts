import { afterBrokenRun } from '../../rules/broken-run.ts';
import type { Asks, Script } from '../script.ts';
import { createMailWriter, type MailStatements } from './mail.ts';

export interface ProcessStatements extends MailStatements {
  processes: {
    register(process: string): void;
    endLanes(names: string): void;
    endSources(names: string): string[];
    selectBroken(names: string): BrokenRow[];
    breakOff(row: Record<string, unknown>): void;
    forget(names: string): void;
    writeProbe(now: number): void;
  };
}

/** Processes whose leases end, each by its name. */
export interface Departed {
  /** The process that asks. */
  process: string;
  /** Whether leases in its own name end too: they are those of a dispatcher or poller before this one. */
  own: boolean;
  dead: string[];
}

/** A source that was being read when its process ended. */
interface BrokenRow {
  id: string;
  tenantId: string;
  name: string;
  brokenOff: number;
}

/** Leases of deliveries and sources that nobody holds any more. */
export function processChanges(ask: Asks<ProcessStatements>) {
  const addMail = createMailWriter(ask);

  const namesOf = ({ process, own, dead }: Departed) => JSON.stringify(own ? [...dead, process] : dead);

  return {
    *endLaneLeases(departed: Departed): Script<void> {
      yield* ask.processes.register(departed.process);
      yield* ask.processes.endLanes(namesOf(departed));
      yield* ask.processes.forget(JSON.stringify(departed.dead));
    },
    /** The ids of the sources that were being read. Those that a dead process read rest. */
    *endSourceLeases(departed: Departed & { now: number }): Script<string[]> {
      yield* ask.processes.register(departed.process);
      const { dead, now } = departed;
      const broken = yield* ask.processes.selectBroken(JSON.stringify(dead));
      for (const [place, { id, tenantId, name, brokenOff }] of broken.entries()) {
        const { error, isPaused, notBefore } = afterBrokenRun({ times: brokenOff + 1, place, now });
        yield* ask.processes.breakOff({
          id,
          now,
          error: JSON.stringify(error),
          notBefore,
          isPaused: isPaused ? 1 : 0,
        });
        if (!isPaused) continue;
        const facts = { kind: 'source_paused', sourceId: id, name, message: error.message } as const;
        yield* addMail({ id: `mail_${id}_paused_${now}`, tenantId, facts, createdAt: now });
      }
      const ended = yield* ask.processes.endSources(namesOf(departed));
      yield* ask.processes.forget(JSON.stringify(departed.dead));
      return ended;
    },
  };
}

/** The row that is written to know that the storage can be. */
export function storageChanges(ask: Asks<ProcessStatements>) {
  return { writeProbe: (now: number) => ask.processes.writeProbe(now) };
}
