import type { Deprecation } from '../http/deprecations.ts';
import type { Problems } from '../http/problems.ts';
import type { Cursors } from '../lib/cursor.ts';
import type { IntakeParts } from '../signals/intake.ts';
import type { EndpointParts } from '../webhooks/endpoints.ts';
import type { SendTest } from '../webhooks/test-delivery.ts';

/** What the routes of /v1 need of the process. */
export interface ApiParts extends IntakeParts, EndpointParts {
  cursors: Cursors;
  problems: Problems;
  /** Operations that will go; the description says so too. */
  deprecations: readonly Deprecation[];
  /** Tells the dispatcher which endpoints have new work. */
  nudge(lanes: readonly { endpointId: string; tenantId: string }[]): void;
  /** Tells the dispatcher that its copy of an endpoint is old: settings, secret or pause were changed, or it was deleted. */
  endpointChanged(endpointId: string): void;
  /** Tells who reads sources that one may be due sooner than planned; without it, that is noticed a little later. */
  sourcesChanged?(): void;
  sendTest: SendTest;
  /** Address ranges that deliveries come from, as published. */
  sourceIps: readonly string[];
}
