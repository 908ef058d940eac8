import type { IcpProfile } from '../../src/model/icp.ts';
import { compileInSteps, type TenantMatcher } from '../../src/signals/matchers.ts';
import { compilePhrases, type PhraseLists, type PhraseMatcher } from '../../src/signals/phrases.ts';
import { type CompiledProfile, compileProfile } from '../../src/signals/score.ts';

/** Compiles a tenant's profiles. */
export function compileTenant(profiles: readonly IcpProfile[]): TenantMatcher {
  return atOnce(compileInSteps(profiles));
}

export function compileOne(profile: IcpProfile): CompiledProfile {
  return atOnce(compileProfile(profile));
}

export function compileLists(lists: readonly PhraseLists[]): PhraseMatcher {
  return atOnce(compilePhrases(lists));
}

/** The result of work that yields between its pieces. */
export function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
