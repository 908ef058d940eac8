import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** A benchmark process of its own, answering each message with one message. */
export interface Child {
  pid: number;
  ask<T>(message: unknown): Promise<T>;
  end(): void;
  /** Ends it by letting go of it, and waits until it has ended. */
  ended(): Promise<void>;
}

/** Starts `file` (a URL of a module) and resolves once it has sent its first message, which is `ready`. */
export async function startChild<T>(
  file: URL,
  flags: readonly string[] = [],
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<{ child: Child; ready: T }> {
  const forked = fork(file, args, {
    execArgv: [...flags],
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ready = await nextMessage<T>(forked);
  const child: Child = {
    pid: forked.pid ?? 0,
    ask<T>(message: unknown) {
      const answer = nextMessage<T>(forked);
      forked.send(message as object);
      return answer;
    },
    end: () => void forked.kill(),
    async ended() {
      const gone = once(forked, 'exit');
      forked.disconnect();
      await gone;
    },
  };
  return { child, ready };
}

function nextMessage<T>(process: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) =>
      reject(new Error(`a benchmark process ended early with code ${code}`));
    process.once('exit', onExit);
    process.once('message', (message) => {
      process.off('exit', onExit);
      resolve(message as T);
    });
  });
}
