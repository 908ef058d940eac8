import type { FastifyInstance } from 'fastify';
import { addAuthentication, addKeyLimits } from '../http/auth.ts';
import { addCompression } from '../http/compression.ts';
import { addFaceGate } from '../http/face-gate.ts';
import { addIdempotency } from '../http/idempotency.ts';
import { refuseStrayBodies } from '../http/json-body.ts';
import { addShedding } from '../http/load.ts';
import { recordActors, setApiHeaders } from '../http/request-context.ts';
import { addMe, addSettings } from './account.ts';
import { addCampaigns } from './campaigns.ts';
import { addCompanies } from './companies.ts';
import { addDeliveries, addEvents } from './deliveries.ts';
import { addDescription } from './description.ts';
import { addIcps } from './icps.ts';
import { addKeys } from './keys.ts';
import { addLeads } from './leads.ts';
import { collectDocument } from './openapi/document.ts';
import { addPipeline } from './pipeline.ts';
import { type ApiDeps, type RoutesOf, routesOf } from './routes.ts';
import { addSignals } from './signals.ts';
import { addSources } from './sources.ts';
import { addWebhooks } from './webhooks.ts';

/** The signal-intelligence API; registered under `/v1`. */
export async function v1(app: FastifyInstance, deps: ApiDeps): Promise<void> {
  app.addHook('onRequest', (_request, reply, done) => {
    setApiHeaders(reply);
    done();
  });
  const limits = addKeyLimits(app, deps);
  addFaceGate(app, {
    problems: deps.problems,
    hint: `See the OpenAPI description at ${deps.baseUrl}/v1/openapi.json`,
    admit: limits.admitClient,
  });
  addAuthentication(app, { ...deps, limits });
  addCompression(app);
  addShedding(app, { load: deps.load, ownerOf: ({ caller }) => caller?.tenant.id ?? '' });
  deps.handleInTurns(app);
  recordActors(app, deps.store, ({ caller }) =>
    caller === null ? null : { tenantId: caller.tenant.id, actor: caller.key.id },
  );
  addIdempotency(app, deps);
  refuseStrayBodies(app);
  const document = await collectDocument(app, deps);

  const of: RoutesOf = (tag) => routesOf(app, deps, tag);
  deps.onDescribed?.(addDescription(of, deps.baseUrl, document));
  addMe(of);
  addKeys(of);
  addSettings(of);
  addSignals(of);
  addIcps(of);
  addLeads(of);
  addPipeline(of);
  addWebhooks(of);
  addDeliveries(of);
  addEvents(of);
  addCampaigns(of);
  addCompanies(of);
  addSources(of);
}
