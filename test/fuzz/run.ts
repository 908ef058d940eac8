import fc from 'fast-check';
import { SCOPES } from '../../src/model/key.ts';
import { createGuide } from '../support/api-tour.ts';
import { visitEverything } from '../support/api-visits.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { sendTestToNobody } from '../support/fake-receiver.ts';
import { idsIn } from '../support/id-kinds.ts';
import { type Operation, readDescription } from '../support/openapi.ts';
import { createSchemaCheck } from '../support/schema-check.ts';
import type { ValueSource } from './json-arbitrary.ts';
import { createJudge } from './judge.ts';
import { type FuzzRequest, GOOD_KEY, requestOf } from './request-arbitrary.ts';

/** Requests that share a server: later ones see the effects of earlier ones, and the data stays small. */
const REQUESTS_A_WORLD = 500;
/** A request that takes longer counts as hung. */
const DEADLINE_MS = 10_000;
/** The longest `wait` of a list, with a second to spare. */
const LONGEST_WAIT_MS = 21_000;

export interface FuzzOptions {
  requests: number;
  seed: number;
  /** Only operations whose id matches. */
  only?: RegExp;
  progress?(done: number): void;
}

/** A response that violated the description, with the shortest request that caused it. */
export interface Finding {
  operationId: string;
  fault: string;
  request: FuzzRequest;
  answer: string;
  times: number;
}

export interface FuzzReport {
  findings: Finding[];
  /** The number of responses per status. */
  statuses: Record<string, number>;
  /** Operations that never succeeded: the code behind their first rejection was not reached. */
  unreached: string[];
}

/** Sends random requests of every operation to in-memory servers and checks the responses. */
export async function fuzz({ requests, seed, only = /./, progress }: FuzzOptions): Promise<FuzzReport> {
  const findings = new Map<string, Finding>();
  const statuses: Record<string, number> = {};
  const reached = new Map<string, boolean>();
  for (let done = 0; done < requests; done += REQUESTS_A_WORLD) {
    const count = Math.min(REQUESTS_A_WORLD, requests - done);
    await fuzzWorld({ count, seed: seed + done, only }, { findings, statuses, reached });
    progress?.(done + count);
  }
  const unreached = [...reached].filter(([, succeeded]) => !succeeded).map(([operationId]) => operationId);
  return { findings: [...findings.values()], statuses, unreached };
}

interface Tally {
  findings: Map<string, Finding>;
  statuses: Record<string, number>;
  reached: Map<string, boolean>;
}

async function fuzzWorld(
  { count, seed, only }: { count: number; seed: number; only: RegExp },
  { findings, statuses, reached }: Tally,
): Promise<void> {
  const { t, operations, source } = await openWorld();
  const judge = createJudge(createSchemaCheck(source.document));
  const byId = new Map(operations.map((operation) => [operation.operationId, operation]));
  const aimed = operations.filter(({ operationId }) => only.test(operationId));
  const { auth } = await t.addKey({ scopes: [...SCOPES], rateLimit: 1_000_000 });
  try {
    for (const request of fc.sample(requestOf(aimed, source), { numRuns: count, seed })) {
      t.clock.advance(250);
      const { faults, status, body } = await send(t, request, {
        auth,
        judge,
        operation: byId.get(request.operationId),
      });
      statuses[status] = (statuses[status] ?? 0) + 1;
      reached.set(request.operationId, status.startsWith('2') || reached.get(request.operationId) === true);
      for (const fault of faults)
        note(findings, { operationId: request.operationId, fault, request, answer: body });
    }
  } finally {
    await t.app.close();
  }
}

/** A server on which every operation was used once, so that a resource of each kind exists. */
async function openWorld(): Promise<{ t: TestApp; operations: Operation[]; source: ValueSource }> {
  const t = await buildTestApp({
    env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' },
    plan: 'enterprise',
    sendTest: sendTestToNobody,
  });
  const { document, operations } = await readDescription(t.app);
  const guide = createGuide(t);
  await visitEverything(guide);
  return { t, operations, source: { document, ids: idsIn(JSON.stringify(guide.examples)) } };
}

interface Sending {
  auth: { authorization: string };
  judge: ReturnType<typeof createJudge>;
  operation: Operation | undefined;
}

async function send(t: TestApp, request: FuzzRequest, { auth, judge, operation }: Sending) {
  if (operation === undefined) throw new Error(`${request.operationId} is not described`);
  const { method, url, body } = request;
  const headers = { ...request.headers };
  if (headers.authorization === GOOD_KEY) headers.authorization = auth.authorization;
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), DEADLINE_MS);
  // A long poll ends by the server's clock, which stands still meanwhile.
  const waited = setTimeout(() => t.clock.advance(LONGEST_WAIT_MS), DEADLINE_MS / 2);
  const asked = t.app.inject({
    method: method as 'GET',
    url,
    headers,
    ...(body !== null && { payload: body }),
  });
  const answer = await Promise.race([asked, late.promise]);
  clearTimeout(timer);
  clearTimeout(waited);
  if (answer === null) return { faults: ['hangs'], status: 'none', body: '' };
  return { faults: judge(operation, answer), status: String(answer.statusCode), body: answer.body };
}

function note(findings: Map<string, Finding>, found: Omit<Finding, 'times'>): void {
  const key = `${found.operationId} ${found.fault.replaceAll(/\d+/g, 'N')}`;
  const known = findings.get(key);
  const size = ({ url, body }: FuzzRequest) => url.length + (body?.length ?? 0);
  const shorter = known === undefined || size(found.request) < size(known.request);
  findings.set(key, { ...(shorter ? found : known), times: (known?.times ?? 0) + 1 });
}

/** Formats a finding as readable lines. */
export function describeFinding({ operationId, fault, request, answer, times }: Finding): string {
  const { method, url, headers, body } = request;
  return [
    `${operationId}: ${fault} (${times} times)`,
    `  ${method} ${url.slice(0, 300)}`,
    `  ${JSON.stringify(headers)}`,
    ...(body === null ? [] : [`  ${body.slice(0, 1_500)}`]),
    `  → ${answer.slice(0, 600)}`,
  ].join('\n');
}
