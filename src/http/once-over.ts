import type { ServerResponse } from 'node:http';

/**
 * Calls `then` once when the response has been sent or its client has disconnected. If the client disconnected before,
 * which no event reports any more, calls it now.
 */
export function onceOver(response: ServerResponse, then: () => void): void {
  once(response, ['finish', 'close'], then); // if the client disconnects, there is no `finish`
}

/** Like {@link onceOver}, but does not wait for the client to read the response: only until it has been passed to the connection. */
export function onceAnswered(response: ServerResponse, then: () => void): void {
  once(response, ['prefinish', 'close'], then);
}

function once(response: ServerResponse, events: readonly string[], then: () => void): void {
  if (response.destroyed) {
    then();
    return;
  }
  let isOver = false;
  const end = () => {
    if (!isOver) then();
    isOver = true;
  };
  for (const event of events) response.once(event, end);
}
