import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * A separate process that acts as other clients: one request after the other, on its own connections. It answers
 * each message of its parent with the longest wait since the previous message, and the peak memory.
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
/** Set by the parent's message: the number of rounds to complete before reporting. */
let tellAt = Number.POSITIVE_INFINITY;

function ask(target: string): Promise<void> {
  return new Promise((resolve) => {
    const request = get(target, { agent, headers }, (response) => {
      response
        .resume()
        .once('end', resolve)
        .once('error', () => resolve());
    });
    request.once('error', () => resolve()); // the parent checks for itself whether the process is alive
  });
}

/** Returns how many milliseconds the server's main thread and this one were runnable without a free CPU. */
function queuedMs(): number {
  try {
    const own = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8');
    const others = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8');
    return [own, others].reduce((sum, line) => sum + Number(line.split(' ')[1]) / 1e6, 0);
  } catch {
    return 0; // other systems do not report it
  }
}

function lookAtMemory(): void {
  try {
    const [, kilobytes = '0'] =
      /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    mostBytes = Math.max(mostBytes, Number(kilobytes) * 1_024);
  } catch {
    // The process has ended, or there is no such file system here.
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
      // Time that other processes took is not the server's.
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
  // The next full round also waits for work that a request deferred.
  tellAt = rounds + 2;
});
process.on('disconnect', () => process.exit(0));
setInterval(() => {
  lookAtMemory();
  if (performance.now() - began > GIVE_UP_MS) tell(true);
}, WATCH_MEMORY_MS);
void goOn();
