import { expect, test } from 'vitest';
import { faultOfPostgres, isConnectionLost } from '../../../src/store/postgres/faults.ts';

test.each([
  ['57P01', 'shut down'],
  ['57P05', 'idle_session_timeout'],
  ['25P03', 'idle_in_transaction_session_timeout'],
  ['25P04', 'transaction_timeout'],
])('a connection that the server ends (%s, %s) is lost, and the change can be tried again', (code) => {
  const error = Object.assign(new Error('terminating connection'), { code });
  expect([isConnectionLost(error), faultOfPostgres(error)]).toEqual([true, 'outage']);
});
