import { SourceFault } from './source-fault.ts';

/** The code of what was cut off as the process stops. */
export const STOPPED = 'stopped';

/** Not the source's doing: nothing is kept of such a run. */
export function stoppedFault(): SourceFault {
  return new SourceFault(STOPPED, 'The process is stopping.');
}
