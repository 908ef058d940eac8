import type { Database } from 'better-sqlite3';
import { shapeOf } from '../../../model/payload-format.ts';
import type { EndpointMode, WebhookInput } from '../../../model/webhook.ts';
import type { EndpointStore, Receiver } from '../../endpoint-store.ts';
import type { Part } from '../../store.ts';

/** Settings kept prepared, in bytes of their JSON: some ten thousand endpoints, or 70 with the largest format there is. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

interface Kept {
  version: number;
  bytes: number;
  receiver: Receiver;
}

/**
 * Endpoints as events are routed to them, prepared once a version: nine formats of 250 KB took 10 ms to read and to parse
 * for every post. What was asked for longest ago is forgotten first.
 */
export function receiverReads(db: Database) {
  const selectVersions = db.prepare<[string], { id: string; version: number }>(
    `SELECT id, version FROM webhook_endpoints INDEXED BY webhook_endpoints_live
     WHERE tenant_id = +? AND deleted_at IS NULL ORDER BY id`,
  );
  const selectOne = db.prepare<[string], { mode: EndpointMode; settings: string }>(
    'SELECT mode, settings FROM webhook_endpoints WHERE id = ?',
  );
  /** By endpoint, the one asked for last at the end. */
  const kept = new Map<string, Kept>();
  let keptBytes = 0;

  function forget(id: string): void {
    keptBytes -= kept.get(id)?.bytes ?? 0;
    kept.delete(id);
  }

  function read(id: string, version: number): Kept {
    const { mode = 'push', settings: text = '{}' } = selectOne.get(id) ?? {};
    const settings = JSON.parse(text) as WebhookInput;
    const shape = settings.payload_format === null ? null : shapeOf(settings.payload_format);
    return { version, bytes: text.length, receiver: { id, mode, settings, shape } };
  }

  return {
    listReceivers(tenantId) {
      const receivers = selectVersions.all(tenantId).map(({ id, version }) => {
        const known = kept.get(id);
        const current = known?.version === version ? known : read(id, version);
        forget(id);
        kept.set(id, current);
        keptBytes += current.bytes;
        return current.receiver;
      });
      for (const id of kept.keys()) {
        if (keptBytes <= MAX_KEPT_BYTES) break;
        forget(id);
      }
      return receivers;
    },
  } satisfies Part<EndpointStore>;
}
