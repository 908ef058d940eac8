import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** A separate process of a benchmark, which responds to each message with one message. */
export interface Child {
  pid: number;
  ask<T>(message: unknown): Promise<T>;
  end(): void;
  /** Ends it by disconnecting, and waits for its exit. */
  ended(): Promise<void>;
}

/** Starts the module at the URL `file`, and resolves with its first message as `ready`. */
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
      reject(new Error(`a benchmark process exited early with code ${code}`));
    process.once('exit', onExit);
    process.once('message', (message) => {
      process.off('exit', onExit);
      resolve(message as T);
    });
  });
}
