import type { SourceError } from '../../model/source.ts';
import type { Asks, Script } from '../script.ts';
import { createMailWriter, type MailStatements } from './mail.ts';

/** Which processes live: each says so in its row, and takes part under its name until it is silent. */
export interface PresenceStatements {
  presence: {
    beat(process: string, now: number): void;
    /** Whether it was heard between these times. */
    isHeard(process: string, from: number, until: number): boolean;
    /** All others that were not. */
    listSilent(process: string, from: number, until: number): string[];
    silence(process: string): void;
    /** Those of them that hold nothing any more; a JSON list of names. */
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

/** A process that asks for what dead ones held. */
export interface Recovery {
  process: string;
  /** Whether leases in its own name end too: they are those of a dispatcher or poller before this one. */
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

/** How often a process says that it lives. */
export const BEAT_MS = 5_000;
/** Without a word for this long it is dead: three beats may be lost, or be late by a disk that stands still. */
const SILENT_MS = 20_000;

/** When a process that lives at `now` was heard; later where the clock was set back since. */
export const heardWithin = (now: number): [from: number, until: number] => [now - SILENT_MS, now + SILENT_MS];

/** Words of processes, and the leases of deliveries and sources that dead ones held. */
export function processChanges(ask: Asks<ProcessStatements>) {
  const addMail = createMailWriter(ask);

  /** The dead, and all whose leases end. */
  function* departed({ process, own, now }: Recovery): Script<{ dead: string; names: string }> {
    const dead = yield* ask.presence.listSilent(process, ...heardWithin(now));
    return { dead: JSON.stringify(dead), names: JSON.stringify(own ? [...dead, process] : dead) };
  }

  return {
    beat: (process: string, now: number): Script<void> => ask.presence.beat(process, now),
    /** The last word of a process that ends. */
    *leave(process: string): Script<void> {
      yield* ask.presence.silence(process);
      yield* ask.presence.forget(JSON.stringify([process]));
    },
    *endLaneLeases(recovery: Recovery): Script<void> {
      const { dead, names } = yield* departed(recovery);
      yield* ask.processes.endLanes(names);
      yield* ask.presence.forget(dead);
    },
    /** The ids of the sources that were being read. Those that a dead process read rest. */
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
    /** The row that is written to know that the storage can be. */
    writeProbe: (now: number): Script<void> => ask.processes.writeProbe(now),
  };
}

/** How long a source rests after the process ended while it read it, by how many times in a row that was. */
const RESTS_MS = [60_000, 30 * 60_000];
/** Between two sources that were being read when the process ended, so that another end reveals which one causes it. */
const APART_MS = 10_000;

/** What becomes of a source in whose reading the process ended. */
export interface BrokenRun {
  error: SourceError;
  /** Unix milliseconds. */
  notBefore: number;
  isPaused: boolean;
}

/**
 * A source that may have ended the process is not the first thing that the next one reads. `times` counts this one, `place` is
 * the source's among those that were being read.
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
