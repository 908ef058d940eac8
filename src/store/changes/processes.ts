import type { SourceError } from '../../model/source.ts';
import type { Asks, Script } from '../script.ts';
import { createMailWriter, type MailStatements } from './mail.ts';

/** Heartbeats: each live process updates its row, and holds leases under its name until the heartbeats stop. */
export interface PresenceStatements {
  presence: {
    beat(process: string, now: number): void;
    /** Whether its last heartbeat was between these times. */
    isHeard(process: string, from: number, until: number): boolean;
    /** All other processes whose last heartbeat was not. */
    listSilent(process: string, from: number, until: number): string[];
    silence(process: string): void;
    /** Deletes those that hold nothing any more; a JSON list of names. */
    forget(names: string): void;
  };
}

export interface ProcessStatements extends MailStatements, PresenceStatements {
  processes: {
    endLanes(names: string): void;
    endSources(names: string): string[];
    selectBroken(names: string): BrokenRow[];
    breakOff(row: Record<string, unknown>): void;
    writeProbe(now: number): void;
  };
}

/** A process that recovers what dead ones held. */
export interface Recovery {
  process: string;
  /** Whether leases in its own name end, too: those of an earlier dispatcher or poller in this process. */
  own: boolean;
  now: number;
}

/** A source that was being read when its process ended. */
interface BrokenRow {
  id: string;
  tenantId: string;
  name: string;
  brokenOff: number;
}

/** How often a process sends a heartbeat. */
export const BEAT_MS = 5_000;
/** Without a heartbeat for this long, a process is dead: three may be lost, or delayed by an unresponsive disk. */
const SILENT_MS = 20_000;

/** The range of the last heartbeat of a process that is alive at `now`; it may be later if the clock was set back. */
export const heardWithin = (now: number): [from: number, until: number] => [now - SILENT_MS, now + SILENT_MS];

/** Heartbeats, and the leases of deliveries and sources that dead processes held. */
export function processChanges(ask: Asks<ProcessStatements>) {
  const addMail = createMailWriter(ask);

  /** The dead processes, and all processes whose leases end. */
  function* departed({ process, own, now }: Recovery): Script<{ dead: string; names: string }> {
    const dead = yield* ask.presence.listSilent(process, ...heardWithin(now));
    return { dead: JSON.stringify(dead), names: JSON.stringify(own ? [...dead, process] : dead) };
  }

  return {
    beat: (process: string, now: number): Script<void> => ask.presence.beat(process, now),
    /** Marks a process as stopped. */
    *leave(process: string): Script<void> {
      yield* ask.presence.silence(process);
      yield* ask.presence.forget(JSON.stringify([process]));
    },
    *endLaneLeases(recovery: Recovery): Script<void> {
      const { dead, names } = yield* departed(recovery);
      yield* ask.processes.endLanes(names);
      yield* ask.presence.forget(dead);
    },
    /** Returns the IDs of the sources that were being read. Those that a dead process was reading rest. */
    *endSourceLeases(recovery: Recovery): Script<string[]> {
      const { dead, names } = yield* departed(recovery);
      const { now } = recovery;
      const broken = yield* ask.processes.selectBroken(dead);
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
      const ended = yield* ask.processes.endSources(names);
      yield* ask.presence.forget(dead);
      return ended;
    },
    /** The row that is written to check whether the storage works. */
    writeProbe: (now: number): Script<void> => ask.processes.writeProbe(now),
  };
}

/** How long a source rests after the process ended while reading it, by how many times in a row that happened. */
const RESTS_MS = [60_000, 30 * 60_000];
/**
 * Separates sources that were being read when the process ended, so that another crash reveals which one causes it.
 */
const APART_MS = 10_000;

/** The state of a source after the process ended while reading it. */
export interface BrokenRun {
  error: SourceError;
  /** Unix milliseconds. */
  notBefore: number;
  isPaused: boolean;
}

/**
 * A source that may have crashed the process must not be the first one read after the restart. `times` includes this
 * crash; `place` is the position of the source among those that were being read.
 */
function afterBrokenRun({ times, place, now }: { times: number; place: number; now: number }): BrokenRun {
  const restMs = RESTS_MS[times - 1];
  const ended = `The server ended while it read this source${times === 1 ? '' : `, ${times} times in a row`}.`;
  const isPaused = restMs === undefined;
  const next = isPaused ? 'It is paused; resume it to have it read again.' : 'It is read again later.';
  return {
    error: { code: 'process_ended', message: `${ended} ${next}`, at: now },
    notBefore: now + (restMs ?? 0) + place * APART_MS,
    isPaused,
  };
}
