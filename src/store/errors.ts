/** Why the storage could not be opened. */
export type StoreOpenFault =
  | 'folder_not_writable'
  | 'not_a_database'
  | 'foreign_database'
  | 'newer_schema'
  | 'damaged'
  | 'locked'
  | 'other_key'
  | 'no_room'
  | 'no_driver'
  | 'unreachable'
  | 'unfit_server'
  | 'unfinished_copy'
  | 'unreadable';

/** The storage cannot be opened; the message, for operators, names the problem and its solution. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
  readonly fault: StoreOpenFault;

  constructor(fault: StoreOpenFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.fault = fault;
  }
}

/** A database cannot be backed up, restored or checked; the message is for operators. */
export class StoreUpkeepError extends Error {
  override readonly name = 'StoreUpkeepError';
}
