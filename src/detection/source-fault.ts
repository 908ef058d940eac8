/** Why a source could not be read; `code` and `message` are what its owner sees. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  readonly code: string;
  /** When the source asked to be read again at the earliest, Unix milliseconds; 0: it said nothing. */
  readonly retryAt: number;
  constructor(code: string, message: string, retryAt = 0) {
    super(message);
    this.code = code;
    this.retryAt = retryAt;
  }
}

/** Nothing failed: the host wants time between two requests, and the run is made when that is over. */
export class PutOff extends Error {
  override readonly name = 'PutOff';
  /** Unix milliseconds. */
  readonly until: number;
  constructor(until: number) {
    super('The host wants time between two requests.');
    this.until = until;
  }
}

/** The code of what was cut off as the process stops. */
export const STOPPED = 'stopped';

/** Not the source's doing: nothing is kept of such a run. */
export function stoppedFault(): SourceFault {
  return new SourceFault(STOPPED, 'The process is stopping.');
}
