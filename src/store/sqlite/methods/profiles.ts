import type { ProfileStore } from '../../profile-store.ts';
import type { Context } from '../context.ts';
import { createProfileSql } from '../tables/profiles.ts';
import { pageByCreation } from './creation-pages.ts';

export function profileMethods({ db, writer, read }: Context) {
  const profiles = createProfileSql(db);

  return {
    listProfiles: (tenantId) => read(() => profiles.list(tenantId)),
    pageProfiles: (tenantId, page) =>
      read(() => pageByCreation(page, (position) => profiles.page(tenantId, position))),
    getProfile: (tenantId, id) => read(() => profiles.get(tenantId, id)),
    createProfile: (profile, limit) => writer.run('createProfile', profile, limit),
    changeProfile: (profile) => writer.run('changeProfile', profile),
    deleteProfile: (tenantId, id, now) => writer.run('deleteProfile', tenantId, id, now),
  } satisfies ProfileStore;
}
