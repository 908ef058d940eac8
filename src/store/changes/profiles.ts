import type { IcpProfile } from '../../model/icp.ts';
import { phraseCount, profileNameKey } from '../../rules/words.ts';
import type { ProfileStore } from '../profile-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';

export interface ProfileStatements {
  profiles: {
    updateProfile(profile: IcpProfile): boolean;
    markDeleted(now: number, id: string, tenantId: string): void;
    deleteLesson(profileId: string): void;
    selectNamed(tenantId: string, nameKey: string): string | undefined;
    countProfile(tenantId: string): number | undefined;
    countPhrases(tenantId: string, id: string): number | undefined;
    saveDecision(row: Record<string, unknown>): boolean;
    removeDecision(tenantId: string, profileId: string, suggestion: string): string | undefined;
    askForLesson(profileId: string): void;
    renewLessons(model: string): number;
    saveLesson(row: Record<string, unknown>): void;
    switchLesson(row: Record<string, unknown>): boolean;
    insertProfile(profile: IcpProfile): boolean;
    getProfile(tenantId: string, id: string): IcpProfile | null;
  };
}

/** Stores a new profile: part of a change. */
export function createProfileWriter(ask: Asks<ProfileStatements>): (profile: IcpProfile) => Script<void> {
  return function* (profile) {
    yield* ask.profiles.insertProfile(profile);
  };
}

export function profileChanges(ask: Asks<ProfileStatements>) {
  function* exceeds(profile: IcpProfile, limit: number): Script<boolean> {
    const others = (yield* ask.profiles.countPhrases(profile.tenantId, profile.id)) ?? 0;
    return others + phraseCount(profile) > limit;
  }

  const holderOf = ({ tenantId, name }: IcpProfile) =>
    ask.profiles.selectNamed(tenantId, profileNameKey(name));

  return {
    *createProfile(profile, limit, phraseLimit = Number.POSITIVE_INFINITY) {
      if ((yield* holderOf(profile)) !== undefined) return 'name_taken';
      if (((yield* ask.profiles.countProfile(profile.tenantId)) ?? 0) >= limit) return 'full';
      if (yield* exceeds(profile, phraseLimit)) return 'too_many_phrases';
      yield* ask.profiles.insertProfile(profile);
      return 'created';
    },
    *changeProfile(profile, phraseLimit = Number.POSITIVE_INFINITY) {
      const holder = yield* holderOf(profile);
      if (holder !== undefined && holder !== profile.id) return 'name_taken';
      const before = yield* ask.profiles.getProfile(profile.tenantId, profile.id);
      const grows = before === null || phraseCount(profile) > phraseCount(before);
      if (grows && (yield* exceeds(profile, phraseLimit))) return 'too_many_phrases';
      if (!(yield* ask.profiles.updateProfile(profile))) return 'stale';
      yield* ask.profiles.askForLesson(profile.id);
      return 'changed';
    },
    renewLessons: (model) => ask.profiles.renewLessons(model),
    *saveLesson(learned) {
      yield* ask.profiles.saveLesson({ ...learned });
    },
    *switchLesson(tenantId, profileId, isOn) {
      return yield* ask.profiles.switchLesson({ tenantId, profileId, isOn: Number(isOn) });
    },
    *saveSuggestionDecision(decided) {
      return yield* ask.profiles.saveDecision({ ...decided });
    },
    *removeSuggestionDecision(tenantId, profileId, suggestion) {
      return (yield* ask.profiles.removeDecision(tenantId, profileId, suggestion)) ?? null;
    },
    *deleteProfile(tenantId, id, now, version) {
      const profile = yield* ask.profiles.getProfile(tenantId, id);
      if (profile === null || (version ?? profile.version) !== profile.version) return 'missing';
      if ((yield* ask.profiles.countProfile(tenantId)) === 1) return 'last';
      yield* ask.profiles.markDeleted(now, id, tenantId);
      yield* ask.profiles.deleteLesson(id);
      return 'deleted';
    },
  } satisfies Scripts<ProfileStore>;
}
