import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { messageBody, sharedNow } from './setting.ts';

/** Posts messages of one customer, and records when. Messages are numbered consecutively. */
export interface Sender {
  /** Sends this many messages, `inFlight` at a time. */
  burst(messages: number, inFlight: number): Promise<void>;
  /** Sends this many messages at a fixed interval, without waiting for responses. */
  pace(messages: number, everyMs: number): Promise<void>;
  /** The time just before each message was written; see {@link sharedNow}. */
  readonly sentAt: Map<number, number>;
  close(): Promise<void>;
}

/** `first` is the number of its first message: the numbers of different senders must not overlap. */
export function createSender(url: string, apiKey: string, first: number): Sender {
  const pool = new Pool(url, { connections: 64 });
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const sentAt = new Map<number, number>();
  let next = first;

  async function send(): Promise<void> {
    const number = next++;
    const message = messageBody(number);
    sentAt.set(number, sharedNow());
    const { statusCode, body } = await pool.request({
      path: '/v1/signals',
      method: 'POST',
      headers,
      body: message,
    });
    const text = await body.text();
    if (statusCode !== 201)
      throw new Error(`a message got a response with status ${statusCode}: ${text.slice(0, 300)}`);
  }

  return {
    sentAt,
    async burst(messages, inFlight) {
      let left = messages;
      const work = async () => {
        while (left-- > 0) await send();
      };
      await Promise.all(Array.from({ length: inFlight }, work));
    },
    async pace(messages, everyMs) {
      const started = performance.now();
      const answers: Promise<void>[] = [];
      for (let n = 0; n < messages; n++) {
        await pause(Math.max(0, started + n * everyMs - performance.now()));
        answers.push(send());
      }
      await Promise.all(answers);
    },
    close: () => pool.close(),
  };
}

/** CPU time of a process with all of its threads, in milliseconds. */
export function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) * 10;
}

/** Memory in MiB, with shared pages counted proportionally. */
export function memoryMiB(pid: number): number {
  const [, kilobytes = '0'] =
    /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1_024);
}
