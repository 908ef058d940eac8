import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * A process of its own that plays other callers: one request after the other, on connections of their own. It answers each
 * message of its parent with the longest that any of them waited since the one before, and the most memory that was seen.
 */
const [url = '', neighbourKey = '', pid = '', giveUp = ''] = process.argv.slice(2);
const GIVE_UP_MS = Number(giveUp);
const BETWEEN_MS = 3;
const WATCH_MEMORY_MS = 40;

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const headers = { authorization: `Bearer ${neighbourKey}`, 'x-forwarded-for': '192.0.2.7' };
const TARGETS = [`${url}/v1`, `${url}/api/health`, `${url}/v1/signals?limit=20`];

let longestMs = 0;
let longestOf = '';
let mostBytes = 0;
let began = 0;
let rounds = 0;
/** Asked by the parent: how many rounds must have been made before it is told. */
let tellAt = Number.POSITIVE_INFINITY;

function ask(target: string): Promise<void> {
  return new Promise((resolve) => {
    const request = get(target, { agent, headers }, (response) => {
      response
        .resume()
        .once('end', resolve)
        .once('error', () => resolve());
    });
    request.once('error', () => resolve()); // the parent sees for itself whether the process is there
  });
}

/** How long the server's main thread, and this one, were ready to run and no processor was free, in milliseconds. */
function queuedMs(): number {
  try {
    const own = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8');
    const others = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8');
    return [own, others].reduce((sum, line) => sum + Number(line.split(' ')[1]) / 1e6, 0);
  } catch {
    return 0; // other systems do not tell it
  }
}

function lookAtMemory(): void {
  try {
    const [, kilobytes = '0'] =
      /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    mostBytes = Math.max(mostBytes, Number(kilobytes) * 1_024);
  } catch {
    // It has ended, or there is no such file system here.
  }
}

function tell(hung: boolean): void {
  if (tellAt === Number.POSITIVE_INFINITY) return;
  tellAt = Number.POSITIVE_INFINITY;
  const waited = hung ? performance.now() - began : longestMs;
  process.send?.({ longestMs: Math.round(waited), longestOf, mostBytes, hung });
  longestMs = 0;
  mostBytes = 0;
}

async function goOn(): Promise<never> {
  for (;;) {
    for (const target of TARGETS) {
      began = performance.now();
      const queued = queuedMs();
      await ask(target);
      // What others of the machine took is not the server's doing.
      const waited = performance.now() - began - (queuedMs() - queued);
      if (waited > longestMs) [longestMs, longestOf] = [waited, target.slice(url.length)];
      await pause(BETWEEN_MS);
    }
    lookAtMemory();
    rounds++;
    if (rounds >= tellAt) tell(false);
  }
}

process.on('message', () => {
  // What a request left to be done later is waited for by the round that begins now.
  tellAt = rounds + 2;
});
process.on('disconnect', () => process.exit(0));
setInterval(() => {
  lookAtMemory();
  if (performance.now() - began > GIVE_UP_MS) tell(true);
}, WATCH_MEMORY_MS);
void goOn();
