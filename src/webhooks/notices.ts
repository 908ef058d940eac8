import type { EndpointNotice } from '../model/event.ts';
import type { EndpointStore, Receiver } from '../store/endpoint-store.ts';
import type { NoticeStore } from '../store/event-store.ts';
import { type RouteParts, routeChanges, type StateChange } from './state-changes.ts';

interface NoticeParts extends Omit<RouteParts, 'store'> {
  store: RouteParts['store'] & NoticeStore & EndpointStore;
}

/** Notices made events in one commit a tenant. */
const AT_ONCE = 200;

/** Makes an event of everything that happened to endpoints and deliveries since the last time, each once. */
export async function announceNotices(
  parts: NoticeParts,
  isStopping: () => boolean = () => false,
): Promise<void> {
  const { store } = parts;
  let notices: EndpointNotice[];
  do {
    notices = await store.listNotices(AT_ONCE);
    for (const [tenantId, own] of Map.groupBy(notices, (notice) => notice.tenantId)) {
      if (isStopping()) return;
      const endpoints = new Map((await store.listReceivers(tenantId)).map((each) => [each.id, each]));
      const changes = own.map((notice) => changeOf(notice, endpoints.get(notice.endpointId)));
      const events = await routeChanges(parts, tenantId, changes);
      await store.commitNotices({ tenantId, ids: own.map(({ id }) => id), events });
    }
  } while (notices.length === AT_ONCE && !isStopping());
}

/** `endpoint` is left out where it was deleted meanwhile. */
function changeOf({ type, endpointId, facts }: EndpointNotice, endpoint: Receiver | undefined): StateChange {
  const { label = '', url = '' } = endpoint?.settings ?? {};
  const about = { endpoint_id: endpointId, label, host: URL.parse(url)?.host ?? '' };
  const subjectId = type === 'delivery.dead' ? String(facts.delivery_id) : endpointId;
  return { type, subjectId, data: { ...about, ...facts }, notTo: endpointId };
}
