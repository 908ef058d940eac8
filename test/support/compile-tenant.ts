import type { IcpProfile } from '../../src/model/icp.ts';
import { compileInSteps, type TenantMatcher } from '../../src/signals/matchers.ts';

/** Compiles a tenant's profiles. */
export function compileTenant(profiles: readonly IcpProfile[]): TenantMatcher {
  const steps = compileInSteps(profiles);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
