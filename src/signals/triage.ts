import { type Clock, DAY_MS, fromIso, HOUR_MS } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { DomainError } from '../model/errors.ts';
import type { SignalView } from '../model/signal.ts';
import { dateIn, nextDaily } from '../rules/digest-time.ts';
import type { TeamStore } from '../store/account-store.ts';
import type { SignalStore } from '../store/signal-store.ts';

/** The hour at which a snooze ends. */
const MORNING = 8;
const MAX_SNOOZE_MS = 366 * DAY_MS;
const MAX_VIEWS = 20;
const MAX_NAME_CHARS = 40;
const MAX_QUERY_CHARS = 2_000;

/** The morning of a day, Unix milliseconds. @throws DomainError */
export function morningOf(day: string, timezone: string): number {
  const start = /^\d{4}-\d\d-\d\d$/.test(day) ? fromIso(`${day}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(start))
    throw new DomainError('INVALID_REQUEST', 'Choose a day to snooze until, such as 2027-01-31.');
  const daily = { timezone, hour: MORNING };
  // Zones are up to 14 hours from UTC.
  const morning = nextDaily(start - 15 * HOUR_MS, daily);
  return dateIn(timezone, morning) < day ? nextDaily(morning, daily) : morning;
}

/** Hides signals from the inbox until a moment; null: they come back now. How many there were. @throws DomainError */
export async function snoozeSignals(
  { store, clock }: { store: SignalStore; clock: Clock },
  tenantId: string,
  { ids, until }: { ids: readonly string[]; until: number | null },
): Promise<number> {
  const ahead = until === null ? 1 : until - clock.now();
  if (ahead <= 0 || ahead > MAX_SNOOZE_MS)
    throw new DomainError('INVALID_REQUEST', 'Choose a day after today and within a year.');
  return store.triageSignals(tenantId, ids, { snoozedUntil: until });
}

/** Assigns signals to a member of the team; empty: unassigns them. Returns how many there were. @throws DomainError */
export async function assignSignals(
  { store }: { store: SignalStore & TeamStore },
  tenantId: string,
  { ids, assignee }: { ids: readonly string[]; assignee: string },
): Promise<number> {
  const members = assignee === '' ? [] : await store.listMembers(tenantId);
  if (assignee !== '' && !members.some(({ email }) => email === assignee))
    throw new DomainError('INVALID_REQUEST', `"${assignee}" is not the address of a member of your team.`);
  return store.triageSignals(tenantId, ids, { assignee });
}

/** Keeps filters of the list under a name, in place of those it has. @throws DomainError */
export async function saveView(
  { store, clock, newId }: { store: SignalStore; clock: Clock; newId: NewId },
  tenantId: string,
  { name, query }: Pick<SignalView, 'name' | 'query'>,
): Promise<void> {
  const called = name.replace(/\s+/g, ' ').trim();
  if (called === '' || called.length > MAX_NAME_CHARS)
    throw new DomainError('INVALID_REQUEST', `Name the view in 1 to ${MAX_NAME_CHARS} characters.`);
  if (query.length > MAX_QUERY_CHARS)
    throw new DomainError('INVALID_REQUEST', 'These filters are too long to save as a view.');
  const views = await store.listSignalViews(tenantId);
  if (views.length >= MAX_VIEWS && !views.some((view) => view.name === called))
    throw new DomainError('INVALID_REQUEST', `A team has at most ${MAX_VIEWS} views. Delete one first.`);
  await store.saveSignalView({ id: newId('viw'), tenantId, name: called, query, createdAt: clock.now() });
}
