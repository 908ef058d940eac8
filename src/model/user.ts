/** What a person may do: an owner everything, a member all but team, plan and keys, a reader nothing but look. */
export const ROLES = ['owner', 'member', 'reader'] as const;
export type Role = (typeof ROLES)[number];

/** A person of a tenant who may sign in. Times are Unix milliseconds. */
export interface User {
  id: string;
  tenantId: string;
  email: string;
  role: Role;
  /** Argon2id in PHC form; null until a password was chosen. */
  passwordHash: string | null;
  /** Whether log-in asks for a code too. */
  hasSecondFactor: boolean;
  createdAt: number;
}

/** One browser that is signed in. What the browser holds is not kept, only its SHA-256. */
export interface Session {
  tokenHash: string;
  /** What it is called where it is listed. */
  id: string;
  /** The browser in words, as "Firefox on Linux"; empty where it told nothing that is known. */
  client: string;
  userId: string;
  createdAt: number;
  /** Last use, kept to the minute. */
  seenAt: number;
  /** Moves on with use, up to a limit. */
  expiresAt: number;
}
