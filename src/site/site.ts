import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { compress } from '../http/compression.ts';
import type { Deprecation } from '../http/deprecations.ts';
import type { Description } from '../http/openapi/describe-routes.ts';
import type { DescribedApi } from '../http/openapi/schemas.ts';
import type { Problems } from '../http/problems.ts';
import { sendRepresentation } from '../http/representation.ts';
import { handleTogether } from '../http/turns.ts';
import type { Clock } from '../lib/clock.ts';
import { sharedOnce } from '../lib/yielding.ts';
import type { SiteContent } from './content/site-content.ts';
import { once, type SiteDocument } from './documents/document.ts';
import { createDocuments } from './documents/documents.ts';
import { describePublicApi } from './documents/openapi.ts';
import { addPageGate, addPublicGate } from './gates.ts';
import { createPageErrors } from './page-errors.ts';
import { addAssets, addPages, createNegotiation } from './pages.ts';
import { addHealth, addStatus } from './status.ts';

export interface SiteDeps {
  baseUrl: string;
  clock: Clock;
  problems: Problems;
  content: SiteContent;
  deprecations: readonly Deprecation[];
  /** Requests per client and window under /api. */
  publicRateLimit: number;
}

/** Dependencies of the public API only. */
export interface PublicApiDeps extends SiteDeps {
  /** Called with the API's description once its routes are registered. */
  onDescribed(description: Description): void;
}

/** Dependencies of the pages only; each API resolves once its routes are registered. */
export interface PagesDeps extends SiteDeps {
  publicApi: Promise<Description>;
  signalApi: Promise<DescribedApi>;
  /** Issuers of access tokens for MCP. */
  authorizationServers: readonly string[];
}

/** The public API; registered under `/api`. */
export async function publicApi(app: FastifyInstance, deps: PublicApiDeps): Promise<void> {
  const { identity } = deps.content;
  app.addHook('onSend', compress);
  addPublicGate(app, { ...deps, limit: deps.publicRateLimit });
  handleTogether(app);
  deps.onDescribed(await describePublicApi(app, { ...deps, identity }));
  addHealth(app, deps);
  addStatus(app, { ...deps, identity });
}

/**
 * The site's pages and documents, and the response for every unknown path; registered without a prefix. Responses are
 * built once at startup, except for those that need the description of an API, which costs up to 150 ms: they are
 * built on first use.
 */
export async function pages(app: FastifyInstance, deps: PagesDeps): Promise<void> {
  const { clock, content } = deps;
  const [publicApi, signalApi] = await Promise.all([deps.publicApi, deps.signalApi]);
  const completePages = once(() =>
    content.pages.map((page) => page.complete?.(signalApi.description()) ?? page),
  );
  // What late responses need, each part in a turn of its own: together they take 0.3 s.
  const prepare = sharedOnce(async () => {
    await signalApi.prepare();
    await publicApi.prepare();
    await setImmediate();
    completePages();
    await setImmediate();
  });
  const made = {
    ...deps,
    publicApi: publicApi.document,
    signalApi,
    completePages,
    prepare,
    negotiate: createNegotiation(),
    madeAt: clock.now(),
  };
  app.addHook('onSend', compress);
  addPageGate(app, createPageErrors(made));
  handleTogether(app);
  addPages(app, made);
  addAssets(app, made);
  for (const document of await createDocuments(made)) {
    const preHandler = document.isLate ? [prepare, inSteps(document)] : [];
    app.get(document.path, { preHandler }, (request, reply) => {
      sendRepresentation(request, reply, document.at(clock.now()));
    });
  }
}

/** Generates a document, each step in a turn of its own. */
function inSteps({ steps }: SiteDocument): () => Promise<void> {
  return sharedOnce(async () => {
    for (const step of steps) {
      step();
      await setImmediate();
    }
  });
}
