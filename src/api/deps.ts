import type { KeyLimitDeps } from '../http/auth.ts';
import type { LongPolls } from '../http/connections.ts';
import type { Deprecation } from '../http/deprecations.ts';
import type { LoadGate } from '../http/load.ts';
import type { DescribedApi } from '../http/openapi/schemas.ts';
import type { LeadDeps } from '../leads/changes.ts';
import type { Cursors } from '../lib/cursor.ts';
import type { SeededRandom } from '../lib/secret-box.ts';
import type { Suggester } from '../signals/suggestions.ts';
import type { EndpointDeps } from '../webhooks/endpoints.ts';
import type { SendTest } from '../webhooks/test-delivery.ts';

/** What the routes of /v1 need of the process. */
export interface ApiDeps extends LeadDeps, EndpointDeps, KeyLimitDeps {
  cursors: Cursors;
  /** Turns requests away while there are too many. */
  load: LoadGate;
  longPolls: LongPolls;
  /** The same chance for each run of a request that is sent again. */
  seededRandom: SeededRandom;
  /** Operations that will go; the description says so too. */
  deprecations: readonly Deprecation[];
  /** Why a program may not read an address, null where it may or that is not known; left out: nobody can tell. */
  refusalOf?: (address: string) => Promise<string | null>;
  sendTest: SendTest;
  suggester: Suggester;
  /** Hears how the API describes itself, once its routes are there. */
  onDescribed?(described: DescribedApi): void;
  /** Address ranges that deliveries come from, as published. */
  sourceIps: readonly string[];
}
