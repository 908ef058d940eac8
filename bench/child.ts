import { type ChildProcess, fork } from 'node:child_process';

/** A benchmark process of its own, answering each message with one message. */
export interface Child {
  ask<T>(message: unknown): Promise<T>;
  end(): void;
}

/** Starts `file` (a URL of a module) and resolves once it has sent its first message, which is `ready`. */
export async function startChild<T>(
  file: URL,
  flags: readonly string[] = [],
  args: readonly string[] = [],
): Promise<{ child: Child; ready: T }> {
  const process = fork(file, args, { execArgv: [...flags], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ready = await nextMessage<T>(process);
  const child: Child = {
    ask<T>(message: unknown) {
      const answer = nextMessage<T>(process);
      process.send(message as object);
      return answer;
    },
    end: () => void process.kill(),
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
