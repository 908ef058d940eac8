import type { Page, PageRequest } from '../model/filters.ts';
import type { IcpProfile } from '../model/icp.ts';

/** The members of a profile that are columns; the others are stored as one JSON value. */
export type ProfileColumn = 'id' | 'tenantId' | 'name' | 'active' | 'createdAt' | 'updatedAt' | 'version';

/** The decision on a suggestion; `decision` is JSON. */
export interface SuggestionDecision {
  tenantId: string;
  profileId: string;
  suggestion: string;
  decision: string;
  decidedAt: number;
}

/** What a profile has learned from feedback. */
export interface StoredLesson {
  profileId: string;
  /** Increases with each change. */
  version: number;
  isOn: boolean;
  /** JSON, as saved; null: nothing yet. */
  lesson: string | null;
}

/** A profile that has changed, or got feedback, since its lesson was computed. */
export interface DueLesson {
  tenantId: string;
  profileId: string;
  /** Identifies the change for which it is due. */
  asked: number;
}

/** How many due lessons are compared for each one that is listed. */
export const LESSONS_COMPARED = 10;

/** Ideal customer profiles. Deleted ones are kept for their signals, but returned by no method. */
export interface ProfileStore {
  listProfiles(tenantId: string): Promise<IcpProfile[]>;
  countProfiles(tenantId: string): Promise<number>;
  /** Oldest first. */
  pageProfiles(tenantId: string, page: PageRequest): Promise<Page<IcpProfile>>;
  getProfile(tenantId: string, id: string): Promise<IcpProfile | null>;
  /** Changes with any change of the tenant's profiles or their lessons, by any process. */
  profileStamp(tenantId: string): Promise<string>;
  /** `limit` profiles at most, with a total number of phrases; names are unique per tenant, case-insensitive. */
  createProfile(
    profile: IcpProfile,
    limit: number,
    phraseLimit?: number,
  ): Promise<'created' | 'name_taken' | 'full' | 'too_many_phrases'>;
  /**
   * Stores `profile` if the stored one has the version it is based on; `stale`: it has another, or was deleted. A profile with
   * no more phrases than before is stored regardless of the limit.
   */
  changeProfile(
    profile: IcpProfile,
    phraseLimit?: number,
  ): Promise<'changed' | 'name_taken' | 'stale' | 'too_many_phrases'>;
  /** Lessons of the tenant's profiles that have had feedback. */
  listLessons(tenantId: string): Promise<StoredLesson[]>;
  /**
   * Up to `limit` profiles whose lessons are due: one of each tenant, then another one of each, and so on. Of more than
   * {@link LESSONS_COMPARED} times as many, those of the oldest profiles.
   */
  listDueLessons(limit: number): Promise<DueLesson[]>;
  /** Makes profiles due whose lesson was computed with another model; returns their number. */
  renewLessons(model: string): Promise<number>;
  /** Stores the lesson for the change `asked`; later changes stay due. */
  saveLesson(learned: DueLesson & { lesson: string | null }): Promise<void>;
  /** Switches the profile's lesson on or off. False if it has none. */
  switchLesson(tenantId: string, profileId: string, isOn: boolean): Promise<boolean>;
  /** The newest `MOST_DECISIONS` decisions on suggestions, oldest first; JSON texts as saved. */
  listSuggestionDecisions(tenantId: string, profileId: string): Promise<string[]>;
  /** False if there already is a decision, which then stays. */
  saveSuggestionDecision(decided: SuggestionDecision): Promise<boolean>;
  /** Returns the decision as saved; null if there was none. */
  removeSuggestionDecision(tenantId: string, profileId: string, suggestion: string): Promise<string | null>;
  /**
   * The last profile cannot be deleted, since posts would no longer create signals. With a `version`, a profile with another
   * version is `missing` too.
   */
  deleteProfile(
    tenantId: string,
    id: string,
    now: number,
    version?: number,
  ): Promise<'deleted' | 'last' | 'missing'>;
}
