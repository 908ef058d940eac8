import { describe, expect, it } from 'vitest';
import { createFairQueue } from '../../src/dispatcher/slots.ts';

const waiter = (tenantId: string, endpointId: string) => ({ tenantId, endpointId });

describe('turns', () => {
  it('rotate between tenants first, and between the endpoints of a tenant second', () => {
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

  it('go to the next tenant if one may not go, which then waits', () => {
    const turns = createFairQueue();
    for (const id of ['a', 'b']) turns.add(waiter(id, `${id}1`));
    const isNotA = (tenantId: string) => tenantId !== 'a';
    expect([turns.next(isNotA)?.endpointId, turns.next(isNotA), turns.size]).toEqual(['b1', null, 1]);
    expect(turns.next()?.endpointId).toBe('a1');
  });

  it('are given once, however often they are requested', () => {
    const turns = createFairQueue();
    const only = waiter('a', 'a1');
    turns.add(only);
    turns.add(only);
    expect(turns.next()).toBe(only);
    expect(turns.next()).toBeNull();
  });
});
