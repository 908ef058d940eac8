import type { IncomingMessage } from 'node:http';

/** Whether a body belongs to the request; it may not have arrived. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding !== undefined || (length !== undefined && Number(length) > 0);
}
