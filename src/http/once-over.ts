import type { ServerResponse } from 'node:http';

/**
 * Calls `then` once when the response has been sent or its client has disconnected. If the client disconnected before,
 * which no event reports any more, calls it now.
 */
export function onceOver(response: ServerResponse, then: () => void): void {
  if (response.destroyed) {
    then();
    return;
  }
  let isOver = false;
  const end = () => {
    if (!isOver) then();
    isOver = true;
  };
  // If the client disconnects, there is no `finish`.
  response.once('finish', end).once('close', end);
}
