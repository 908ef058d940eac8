import { describe, expect, it } from 'vitest';
import { createFairQueue } from '../../src/dispatcher/slots.ts';

const waiter = (tenantId: string, endpointId: string) => ({ tenantId, endpointId });

describe('turns', () => {
  it('go round the tenants first and round a tenant’s endpoints second', () => {
    const turns = createFairQueue();
    for (const id of ['a1', 'a2', 'a3']) turns.add(waiter('a', id));
    turns.add(waiter('b', 'b1'));
    const order: string[] = [];
    for (let i = 0; i < 8; i++) {
      const next = turns.next();
      if (next === null) break;
      order.push(next.endpointId);
      turns.add(next);
    }
    expect(order).toEqual(['a1', 'b1', 'a2', 'b1', 'a3', 'b1', 'a1', 'b1']);
  });

  it('are given once however often they are asked for', () => {
    const turns = createFairQueue();
    const only = waiter('a', 'a1');
    turns.add(only);
    turns.add(only);
    expect(turns.next()).toBe(only);
    expect(turns.next()).toBeNull();
  });
});
