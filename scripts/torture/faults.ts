import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from './client.ts';
import type { Mood } from './receiver.ts';
import type { World } from './world.ts';

/** A fault for some time; it is over when the promise resolves, with a description of its effect. */
export interface Fault {
  name: string;
  /** Null if it is possible here; otherwise, why not. */
  cannot(world: World): string | null;
  run(world: World): Promise<string>;
}

const always = () => null;
const onFile = ({ postgres }: World) => (postgres === null ? null : 'the store is not in the folder');
const onPostgres = ({ postgres }: World) => (postgres === null ? 'the store is in the folder' : null);

/** All faults, in the order of the first round. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'kill -9',
    cannot: always,
    async run({ victim }) {
      await victim.kill();
      return 'started again';
    },
  },
  {
    name: 'SIGSTOP',
    cannot: always,
    async run({ victim }) {
      victim.signal('SIGSTOP');
      await sleep(6_000);
      victim.signal('SIGCONT');
      return 'suspended for 6 s';
    },
  },
  {
    // Longer than its leases: others have taken over its deliveries.
    name: 'SIGSTOP for 40 s',
    cannot: onPostgres,
    async run({ victim }) {
      victim.signal('SIGSTOP');
      await sleep(40_000);
      victim.signal('SIGCONT');
      return 'suspended for 40 s';
    },
  },
  postgresRestart('PostgreSQL restarted', 'SIGINT', 0),
  postgresRestart('PostgreSQL away', 'SIGINT', 6_000),
  postgresRestart('PostgreSQL crashed', 'SIGQUIT', 1_000),
  ...(['stalled', 'resetting', 'failing', 'slow'] as const).map(receivers),
  { name: 'slow-loris', cannot: always, run: slowLoris },
  { name: 'flood', cannot: always, run: flood },
  clockStep('clock 1 h ahead', 3_600_000),
  clockStep('clock 1 h back', -3_600_000),
  {
    name: 'full disk',
    cannot: (world) => onFile(world) ?? (world.ownDisk ? null : 'no separate file system could be mounted'),
    run: fullDisk,
  },
  injected('EIO', 'fdatasync,fsync'),
  injected('EIO', 'pwrite64'),
  injected('ENOSPC', 'pwrite64'),
  {
    name: 'second server on the folder',
    cannot: onFile,
    run: ({ victim }) => victim.second(8_000),
  },
];

function postgresRestart(name: string, signal: 'SIGINT' | 'SIGQUIT', downMs: number): Fault {
  return {
    name,
    cannot: onPostgres,
    async run({ postgres, nodes }) {
      const down = postgres?.restart(signal, downMs);
      await sleep(downMs / 2);
      const ready = await Promise.all(
        nodes.map(({ url }) =>
          fetch(`${url}/ready`, { signal: AbortSignal.timeout(8_000) }).then(
            ({ status }) => status,
            () => 'no answer',
          ),
        ),
      );
      await down;
      return `${signal}, down for ${downMs} ms; /ready ${ready.join(', ')}`;
    },
  };
}

function receivers(mood: Exclude<Mood, 'well'>): Fault {
  return {
    name: `receivers ${mood}`,
    cannot: always,
    async run({ receiver, paths }) {
      const ill = paths.filter((_, n) => n % 2 === 0);
      receiver.mood(ill, mood);
      await sleep(6_000);
      receiver.mood(ill, 'well');
      return `${ill.length} of ${paths.length} for 6 s`;
    },
  };
}

const LORIS = 300;

/** Callers that send a request's head at one byte per second. */
async function slowLoris({ victim }: World): Promise<string> {
  const { port, hostname } = new URL(victim.url);
  let cut = 0;
  const sockets = Array.from({ length: LORIS }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {}).on('close', () => cut++);
    return socket.resume();
  });
  const slowest = { ms: 0 };
  for (const byte of 'GET /api/health') {
    for (const socket of sockets) if (socket.writable) socket.write(byte);
    const asked = performance.now();
    const well = await fetch(`${victim.url}/api/health`, { signal: AbortSignal.timeout(5_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
    slowest.ms = Math.max(slowest.ms, well ? performance.now() - asked : 5_000);
    await sleep(1_000);
  }
  for (const socket of sockets) socket.destroy();
  return `${cut} of ${LORIS} were disconnected; /api/health took at most ${Math.round(slowest.ms)} ms meanwhile`;
}

const FLOODERS = 200;

/** Another tenant's lists and posts over many connections, each request right after the previous response. */
async function flood({ victim, others }: World): Promise<string> {
  const until = performance.now() + 6_000;
  const seen = new Map<string, number>();
  let n = 0;
  const one = async (i: number) => {
    while (performance.now() < until) {
      const post_url = `https://flood.example/${process.pid}/${n++}`;
      const body = { platform: { name: 'forum', post_url }, text: 'Who knows a good roofer?' };
      const status = await (i % 2 === 0
        ? call(victim.url, others.key, '/v1/signals?limit=100')
        : call(victim.url, others.key, '/v1/signals', body)
      )
        .then(async (response) => {
          await response.arrayBuffer();
          return String(response.status);
        })
        .catch(() => 'none');
      seen.set(status, (seen.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: FLOODERS }, (_, i) => one(i)));
  return [...seen].map(([status, count]) => `${status}: ${count}`).join(', ');
}

function clockStep(name: string, ms: number): Fault {
  return {
    name,
    cannot: always,
    async run({ victim }) {
      victim.setClock(ms);
      await sleep(5_000);
      victim.setClock(0);
      await sleep(1_000);
      return 'for 5 s, and back';
    },
  };
}

/** Fills the data folder's disk. */
async function fullDisk({ victim, dataDir }: World): Promise<string> {
  const ballast = join(dataDir, 'ballast');
  const { bavail, bsize } = statfsSync(dataDir);
  try {
    writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - 64 * 1024), 1));
  } catch {
    // The server was faster: the disk is full.
  }
  await sleep(5_000);
  const [health, ready] = await Promise.all(
    ['/api/health', '/ready'].map((path) =>
      fetch(`${victim.url}${path}`, { signal: AbortSignal.timeout(8_000) }).then(
        ({ status }) => status,
        () => 'no answer',
      ),
    ),
  );
  rmSync(ballast, { force: true });
  return `for 5 s; /api/health ${health}, /ready ${ready}`;
}

/** Makes some of the server's system calls fail, with strace. */
function injected(error: 'EIO' | 'ENOSPC', calls: string): Fault {
  return {
    name: `${error} from ${calls}`,
    cannot: (world) =>
      onFile(world) ?? (spawnSync('strace', ['-V']).status === 0 ? null : 'strace is not installed'),
    async run({ victim, notes }) {
      const said = join(notes, 'strace.out');
      const rules = ['-e', `trace=${calls}`, '-e', `inject=${calls}:error=${error}:when=3+7`];
      const tracer = spawn('strace', ['-f', '-qq', '-o', said, '-p', String(victim.pid), ...rules]);
      const ended = once(tracer, 'exit');
      await sleep(5_000);
      tracer.kill('SIGINT');
      await ended;
      const lines = readFileSync(said, 'utf8').split('\n');
      rmSync(said);
      const injected = lines.filter((line) => line.includes('(INJECTED)')).length;
      return `${injected} of ${lines.length - 1} calls failed within 5 s`;
    },
  };
}
