import type { Logger } from 'pino';
import type { SessionLife } from '../accounts/sign-in.ts';
import type { LoadGate } from '../http/load.ts';
import type { LeadParts } from '../leads/changes.ts';
import type { Cursors } from '../lib/cursor.ts';
import type { SeededRandom } from '../lib/secret-box.ts';
import type { Place } from '../signals/places.ts';
import type { SourcePreview } from '../signals/source-management.ts';
import type { Suggester } from '../signals/suggestions.ts';
import type { EndpointParts } from '../webhooks/endpoints.ts';
import type { SendTest } from '../webhooks/test-delivery.ts';
import type { DashboardLimits } from './request-limits.ts';

/** What the dashboard needs of the process. */
export interface DashboardParts extends LeadParts, EndpointParts {
  logger: Logger;
  cursors: Cursors;
  /** Turns requests away while there are too many. */
  load: LoadGate;
  seededRandom: SeededRandom;
  /** Why a program may not read an address, null where it may or that is not known; left out: nobody can tell. */
  refusalOf?: (address: string) => Promise<string | null>;
  /** What a place would have brought in the last 24 hours; left out: nobody can read it. */
  previewSource?: (
    tenantId: string,
    profileId: string,
    place: Pick<Place, 'kind' | 'settings'>,
  ) => Promise<SourcePreview>;
  /** How much may be asked of it in a minute. */
  dashboardLimits: DashboardLimits;
  /** How long sessions last; as `SESSION_LIFE`, where it is left out. */
  sessionLife?: SessionLife;
  sendTest: SendTest;
  suggester: Suggester;
  /** Whether there is a mail server; else mail is kept in the outbox alone. */
  sendsMail: boolean;
  /** Address ranges that deliveries come from, as published. */
  sourceIps: readonly string[];
}
