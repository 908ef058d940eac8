/** Tells the scheduler that something may be sent or claimed now. */
export interface WakeUp {
  /** Once for all that is asked for in a turn of the event loop. */
  soon(): void;
  /** At once, where nothing was asked for in this turn yet: for work that came from elsewhere than a connection. */
  atOnce(): void;
  listen(answer: () => void): void;
}

/**
 * After the current turn of the event loop. undici takes a connection back only after an immediate of its own, so that
 * sending at once would open a new connection for every reply.
 */
export function createWakeUp(): WakeUp {
  /** Asked for in this turn; whether it is still to be answered. */
  let asked = false;
  let unanswered = false;
  let answer = () => {};

  function endTurn(): void {
    asked = false;
    if (!unanswered) return;
    unanswered = false;
    answer();
  }

  function soon(): void {
    unanswered = true;
    if (asked) return;
    asked = true;
    setImmediate(endTurn);
  }

  return {
    soon,
    atOnce() {
      if (asked) {
        soon();
        return;
      }
      asked = true;
      setImmediate(endTurn);
      answer();
    },
    listen(listener) {
      answer = listener;
    },
  };
}
