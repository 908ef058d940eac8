import type { Database } from 'better-sqlite3';
import { toIso } from '../../src/lib/clock.ts';
import type { SecretBox } from '../../src/lib/secret-box.ts';
import { STAGES } from '../../src/model/constants.ts';
import type { Signal } from '../../src/model/signal.ts';
import { createRunner } from '../../src/store/sqlite/runner.ts';
import { aLead, aNewLead } from '../../test/support/leads.ts';
import { anEndpoint } from '../../test/support/store.ts';

const ENDPOINTS = 20;
const LEADS = 30_000;
const COMPANIES = 50_000;

/**
 * A tenant's data besides its signals, in bulk: an event and a delivery with its attempt for each signal, to twenty endpoints; one
 * delivery in fifty is dead, one discarded, and one waits for a paused endpoint; leads in every stage; companies.
 */
export function addRows(db: Database, tenantId: string, secretBox: SecretBox): void {
  db.transaction(() => {
    addEndpoints(db, tenantId, secretBox);
    addDeliveries(db, tenantId);
    addLeads(db, tenantId);
    addCompanies(db, tenantId);
  })();
}

function addEndpoints(db: Database, tenantId: string, secretBox: SecretBox): void {
  const { createEndpoint } = createRunner(db);
  for (let n = 0; n < ENDPOINTS; n++) {
    const id = `whk_${tenantId.slice(4)}${n}`;
    const sealed = { id, createdAt: n, secretBox: secretBox.seal(`whsec_${'c'.repeat(43)}=`, id) };
    const paused = { status: 'paused', pausedReason: 'manual' } as const;
    createEndpoint(anEndpoint(tenantId, n === 0 ? { ...sealed, ...paused } : sealed), null);
  }
}

function addDeliveries(db: Database, tenantId: string): void {
  const bodies = `FROM signals s WHERE s.tenant_id = :tenantId`;
  db.prepare(
    `INSERT INTO events (id, tenant_id, type, subject_id, created_at, data)
     SELECT 'evt_' || substr(s.id, 5), s.tenant_id, 'signal.detected', s.id, s.timestamp, json_object('signal_id', s.id) ${bodies}`,
  ).run({ tenantId });
  db.prepare(
    `INSERT INTO event_positions (tenant_id, position, event_id)
     SELECT r.tenant_id, r.position + row_number() OVER (ORDER BY e.id), e.id
     FROM stored_rows r JOIN events e ON e.tenant_id = r.tenant_id WHERE r.tenant_id = :tenantId`,
  ).run({ tenantId });
  db.prepare(
    `UPDATE stored_rows SET position = (SELECT max(position) FROM event_positions WHERE tenant_id = :tenantId)
     WHERE tenant_id = :tenantId`,
  ).run({ tenantId });
  db.prepare(`INSERT INTO delivery_bodies (id, body) SELECT s.seq, s.wire ${bodies}`).run({ tenantId });
  // Every fiftieth each, by the signal's time in units of 10 s.
  db.prepare(
    `INSERT INTO deliveries
       (id, tenant_id, endpoint_id, event_id, status, next_attempt_at, attempt_count, expires_at, created_at, event_type, body_id)
     SELECT 'dlv_' || substr(id, 5), tenant_id, 'whk_' || substr(tenant_id, 5) || (place % ${ENDPOINTS}), 'evt_' || substr(id, 5),
            CASE WHEN place % ${ENDPOINTS} = 0 AND place % 50 = 0 THEN 'pending' WHEN place % 50 = 1 THEN 'dead'
                 WHEN place % 50 = 2 THEN 'discarded' ELSE 'delivered' END,
            CASE WHEN place % ${ENDPOINTS} = 0 AND place % 50 = 0 THEN timestamp END, 1,
            CASE WHEN place % 50 = 1 THEN timestamp + 604800000 END, timestamp, 'signal.detected', seq
     FROM (SELECT s.*, row_number() OVER (ORDER BY s.seq) AS place ${bodies})`,
  ).run({ tenantId });
  const signature = 'a'.repeat(64);
  const sent = {
    host: 'receiver.example.com',
    contentLength: 900,
    bodySignature: signature,
    serviceSignature: signature,
  };
  const detail = (status: number) =>
    JSON.stringify({
      sent: { ...sent, standardSignature: `v1,${'b'.repeat(43)}=` },
      response: { status, headers: { 'content-type': 'text/plain' }, body: 'taken' },
      error: status < 300 ? null : { code: 'http_status', message: `The endpoint responded with ${status}.` },
      timings: { connectedMs: 12, headersMs: 82 },
    });
  db.prepare(
    `INSERT INTO attempts (id, delivery_id, attempt, started_at, duration_ms, detail)
     SELECT 'att_' || substr(id, 5), id, 1, created_at + 50, 84, CASE status WHEN 'delivered' THEN :taken ELSE :refused END
     FROM deliveries WHERE tenant_id = :tenantId`,
  ).run({ tenantId, taken: detail(200), refused: detail(500) });
}

function addLeads(db: Database, tenantId: string): void {
  const { commitLead } = createRunner(db);
  const signals = db
    .prepare<[string, number], string>(
      'SELECT wire FROM signals WHERE tenant_id = ? ORDER BY seq DESC LIMIT ?',
    )
    .pluck()
    .all(tenantId, LEADS);
  for (const [n, wire] of signals.entries()) {
    const { signal_id, prospect, platform, timestamp, icp_score, classification } = JSON.parse(
      wire,
    ) as Signal;
    const domain = `firm${n % COMPANIES}.example`;
    const lead = aLead(`led_${signal_id.slice(4)}`, {
      ...{ name: prospect.name, title: prospect.title, email: `person@${domain}`, source: platform.name },
      company: { ...aLead('').company, name: `Firm ${n}`, domain },
      ...{ stage: STAGES[n % STAGES.length] ?? 'new', icp_score, classification, signal_count: 1 },
      ...{
        created_at: timestamp,
        updated_at: timestamp,
        stage_changed_at: timestamp,
        last_signal_at: timestamp,
      },
      ...(n % 3 === 0 && {
        deal: { amount_minor: n * 100, currency: 'EUR', status: 'open', close_date: null },
      }),
    });
    if (!commitLead(aNewLead(tenantId, lead, { attach: [signal_id] }))) throw new Error(`no lead ${lead.id}`);
  }
}

function addCompanies(db: Database, tenantId: string): void {
  const insert = db.prepare(
    `INSERT INTO companies (id, tenant_id, domain, search, industry, facts, active_at, created_at, updated_at, version)
     VALUES (?, ?, ?, ?, 'plumbing', ?, ?, ?, ?, 1) ON CONFLICT DO NOTHING`,
  );
  for (let n = 0; n < COMPANIES; n++) {
    const at = Date.UTC(2026, 0, 1) + n * 60_000;
    const name = `Firm ${n}`;
    const facts = { manual: {}, observed: { name: { value: name, signal_id: '', at } } };
    const domain = `firm${n}.example`;
    insert.run(
      `cmp_${toIso(at)}${tenantId}`,
      tenantId,
      domain,
      `${name.toLowerCase()} ${domain}`,
      JSON.stringify(facts),
      at,
      at,
      at,
    );
  }
}
