/** Says that something may be sent or claimed now, to whoever listens. */
export interface Bell {
  /** Soon, once for all that rings in a turn of the event loop. */
  ring(): void;
  /** At once, where nothing rang in this turn yet: for work that came from elsewhere than a connection. */
  ringNow(): void;
  listen(answer: () => void): void;
}

/**
 * After the current turn of the event loop. undici takes a connection back only after an immediate of its own, so that
 * sending at once would open a new connection for every reply.
 */
export function createBell(): Bell {
  /** Rung in this turn; whether it is still to be answered. */
  let rung = false;
  let unanswered = false;
  let answer = () => {};

  function endTurn(): void {
    rung = false;
    if (!unanswered) return;
    unanswered = false;
    answer();
  }

  function ring(): void {
    unanswered = true;
    if (rung) return;
    rung = true;
    setImmediate(endTurn);
  }

  return {
    ring,
    ringNow() {
      if (rung) {
        ring();
        return;
      }
      rung = true;
      setImmediate(endTurn);
      answer();
    },
    listen(listener) {
      answer = listener;
    },
  };
}
