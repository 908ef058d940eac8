import type { Page, PageRequest } from '../model/filters.ts';
import type { IcpProfile } from '../model/icp.ts';

/** What was decided of a suggestion; `decision` is JSON. */
export interface SuggestionDecision {
  tenantId: string;
  profileId: string;
  suggestion: string;
  decision: string;
  decidedAt: number;
}

/** What a profile learned from feedback. */
export interface StoredLesson {
  profileId: string;
  /** Greater after each change. */
  version: number;
  isOn: boolean;
  /** JSON, as saved; null: nothing yet. */
  lesson: string | null;
}

/** A profile whose feedback, or which itself, has changed since its lesson. */
export interface DueLesson {
  tenantId: string;
  profileId: string;
  /** Names the change that it is due for. */
  asked: number;
}

/** Ideal customer profiles. Deleted ones are kept for the signals that were matched with them, and found by no method. */
export interface ProfileStore {
  listProfiles(tenantId: string): Promise<IcpProfile[]>;
  /** Oldest first. */
  pageProfiles(tenantId: string, page: PageRequest): Promise<Page<IcpProfile>>;
  getProfile(tenantId: string, id: string): Promise<IcpProfile | null>;
  /** Another text after any change of the tenant's profiles or their lessons, by any process. */
  profileStamp(tenantId: string): Promise<string>;
  /** `limit` profiles at most, and as many phrases in all; names are unique in a tenant, in whatever case. */
  createProfile(
    profile: IcpProfile,
    limit: number,
    phraseLimit?: number,
  ): Promise<'created' | 'name_taken' | 'full' | 'too_many_phrases'>;
  /**
   * Stores `profile` where the one before it has the version it grew from; `stale`: it has not, or it is gone. One that
   * has no more phrases than before is stored whatever the limit.
   */
  changeProfile(
    profile: IcpProfile,
    phraseLimit?: number,
  ): Promise<'changed' | 'name_taken' | 'stale' | 'too_many_phrases'>;
  /** Of the tenant's profiles that have had feedback. */
  listLessons(tenantId: string): Promise<StoredLesson[]>;
  /** Profiles of all tenants that have something to learn, `limit` at most. */
  listDueLessons(limit: number): Promise<DueLesson[]>;
  /** Makes profiles due whose lesson is of another model; how many. */
  renewLessons(model: string): Promise<number>;
  /** Stores what follows from the change `asked`; what has been asked since stays due. */
  saveLesson(learned: DueLesson & { lesson: string | null }): Promise<void>;
  /** Whether posts are judged with the profile's lesson. False where it has none. */
  switchLesson(tenantId: string, profileId: string, isOn: boolean): Promise<boolean>;
  /** What was decided of suggestions, in the order of deciding; JSON texts as saved. */
  listSuggestionDecisions(tenantId: string, profileId: string): Promise<string[]>;
  /** False where the suggestion was decided before: the first decision stays. */
  saveSuggestionDecision(decided: SuggestionDecision): Promise<boolean>;
  /** The decision as it was saved; null where there was none. */
  removeSuggestionDecision(tenantId: string, profileId: string, suggestion: string): Promise<string | null>;
  /**
   * The last one stays: without any, no post would make a signal. With a `version`, one that has another is `missing` too.
   */
  deleteProfile(
    tenantId: string,
    id: string,
    now: number,
    version?: number,
  ): Promise<'deleted' | 'last' | 'missing'>;
}
