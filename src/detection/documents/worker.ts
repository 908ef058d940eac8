import { parentPort } from 'node:worker_threads';
import { SourceFault } from '../source-fault.ts';
import type { ParseAnswer, ParseRequest } from './parser.ts';
import { PARSERS } from './parsers.ts';

if (parentPort !== null) serve(parentPort);

function serve(port: NonNullable<typeof parentPort>): void {
  port.on('message', (request: ParseRequest) => port.postMessage(answer(request)));
  // What it took to load counts against nobody's time.
  port.postMessage({ state: 'ready' } satisfies ParseAnswer);
}

function answer({ parser, document, args }: ParseRequest): ParseAnswer {
  try {
    const found = PARSERS.get(parser);
    if (found === undefined) throw new Error(`no parser is called "${parser}"`);
    return { state: 'parsed', result: found.parse(document, args as never) };
  } catch (error) {
    if (error instanceof SourceFault) {
      return { state: 'fault', code: error.code, message: error.message, retryAt: error.retryAt };
    }
    // The stack is spent, or a text would be longer than any can be.
    if (error instanceof RangeError) return { state: 'exhausted' };
    return {
      state: 'broken',
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}
