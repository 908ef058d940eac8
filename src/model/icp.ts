/** An Ideal Customer Profile: what a tenant looks for. Empty lists ask nothing. Times are Unix milliseconds. */
export interface IcpProfile {
  id: string;
  tenantId: string;
  name: string;
  description: string;
  phrases: string[];
  excludedPhrases: string[];
  competitors: string[];
  industries: string[];
  titles: string[];
  headcountRanges: { min: number; max: number | null }[];
  locations: string[];
  thresholds: { hot: number; warm: number };
  active: boolean;
  createdAt: number;
}

export const DEFAULT_THRESHOLDS = { hot: 70, warm: 40 } as const;

/** The profile each new tenant starts with: fits any company, scores general buying intent. */
export function defaultProfile(id: string, tenantId: string, createdAt: number): IcpProfile {
  return {
    id,
    tenantId,
    name: 'Default',
    description: 'Fits any company and scores general buying intent.',
    phrases: [],
    excludedPhrases: [],
    competitors: [],
    industries: [],
    titles: [],
    headcountRanges: [],
    locations: [],
    thresholds: { ...DEFAULT_THRESHOLDS },
    active: true,
    createdAt,
  };
}
