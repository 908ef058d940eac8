/** Says that something may be sent or claimed now, to whoever listens. */
export interface Bell {
  /** Soon, once for all that rings in a turn of the event loop. */
  ring(): void;
  listen(answer: () => void): void;
}

/**
 * After the current turn of the event loop. undici takes a connection back only after an immediate of its own, so that
 * sending at once would open a new connection for every reply.
 */
export function createBell(): Bell {
  let rung = false;
  let answer = () => {};
  return {
    ring() {
      if (rung) return;
      rung = true;
      setImmediate(() => {
        rung = false;
        answer();
      });
    },
    listen(listener) {
      answer = listener;
    },
  };
}
