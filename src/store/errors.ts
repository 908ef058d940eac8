/** What kept the storage from being opened. */
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

/** The storage cannot be opened; the message names the fault and the way out, and is meant for the operator. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
  readonly fault: StoreOpenFault;

  constructor(fault: StoreOpenFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.fault = fault;
  }
}

/** What keeps a database from being backed up, restored or checked; the message is meant for the operator. */
export class StoreUpkeepError extends Error {
  override readonly name = 'StoreUpkeepError';
}
