import { expect, test } from 'vitest';
import { lanesOf } from '../../src/webhooks/state-changes.ts';
import { aRoutedEvent } from '../support/store.ts';

test('a delivery that is too large is told apart from work, and one that is taken is no news', () => {
  const routed = aRoutedEvent('ten_a', ['whk_a', 'whk_b', 'whk_c']);
  const [taken, large] = routed.deliveries;
  if (large !== undefined) large.status = 'rejected';
  expect(lanesOf([routed], new Set([taken?.id ?? '']))).toEqual([
    { endpointId: 'whk_b', tenantId: 'ten_a', rejected: true },
    { endpointId: 'whk_c', tenantId: 'ten_a' },
  ]);
});
