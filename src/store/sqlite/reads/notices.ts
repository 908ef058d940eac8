import type { Database } from 'better-sqlite3';
import type { EndpointNotice } from '../../../model/event.ts';
import type { NoticeStore } from '../../notice-store.ts';
import type { Part } from '../../store.ts';
import { Table } from '../table.ts';

const NOTICES = new Table<EndpointNotice>('endpoint_notices', {
  ...{ id: 'plain', tenantId: 'plain', type: 'plain', endpointId: 'plain', facts: 'json' },
});

export function noticeReads(db: Database) {
  const selectOldest = NOTICES.select<[number]>(db, 'ORDER BY id LIMIT ?');
  return { listNotices: (limit) => selectOldest.all(limit) } satisfies Part<NoticeStore>;
}
