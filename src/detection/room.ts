import { requireRoom } from '../accounts/room.ts';
import { DomainError } from '../model/errors.ts';
import type { IntakeParts } from '../signals/plan-posts.ts';
import { SourceFault } from './source-fault.ts';

/** Nothing is passed over where the plan keeps no more signals: all is read again once there is room. @throws SourceFault */
export async function needRoom(parts: Pick<IntakeParts, 'store' | 'clock'>, tenantId: string): Promise<void> {
  try {
    await requireRoom(parts, tenantId, 'signals');
  } catch (error) {
    const full = error instanceof DomainError && error.code === 'PLAN_REQUIRED';
    throw full ? new SourceFault('plan_ceiling', error.message) : error;
  }
}
