import type { Lead } from '../model/lead.ts';
import { linkedinProfile, personKeys } from '../model/person-keys.ts';
import type { Signal } from '../model/signal.ts';
import type { EventScan, LeadErasure, ScannedEvents } from '../store/erasure-store.ts';
import type { PersonalSignal, StoredLead } from '../store/lead-store.ts';
import type { Store } from '../store/store.ts';
import { changeUntilItHolds, requireLead } from './changes.ts';
import { eraseSignal } from './erased-signal.ts';
import { areDifferent } from './person.ts';

/** Events looked through in one go: a few milliseconds, between which others get their turn. */
const EVENTS_AT_ONCE = 2_000;

/**
 * Erases a person: the lead, and whatever else tells of them, in signals, events, deliveries and kept answers. What still
 * waits to be delivered is discarded: a receiver has no use for a body without its person. Returns the endpoints whose
 * waiting deliveries were.
 * @throws DomainError `NOT_FOUND`
 */
export async function eraseLead(store: Store, tenantId: string, id: string): Promise<string[]> {
  let swept: string[] | null = null;
  return changeUntilItHolds(async () => {
    const stored = await requireLead(store, tenantId, id);
    const person = await findPerson(store, tenantId, stored);
    // Once: it is the long part, and what comes to be meanwhile is found by the lead and the signals it is about.
    const mentions = mentionsOf(stored.lead, person);
    const signalIds = person.signals.map((signal) => signal.id);
    swept ??= await sweepEvents(store, { tenantId, texts: [id, ...mentions], signalIds });
    return store.eraseLead({
      tenantId,
      leadId: id,
      expectedVersion: stored.version,
      keys: person.keys,
      signals: person.signals.map((signal) => eraseSignal(signal, id)),
      eventIds: swept,
      texts: [id, ...signalIds, ...mentions],
      mentions,
    } satisfies LeadErasure);
  });
}

interface Person {
  keys: string[];
  signals: PersonalSignal[];
}

/**
 * A person's keys and signals: the lead's own, and what follows from them, as a post that is known by its author's
 * address may name a profile under which others were posted. What somebody else posted is only let go.
 */
async function findPerson(store: Store, tenantId: string, { lead }: StoredLead): Promise<Person> {
  const attached = await store.listPersonalSignals(lead.id);
  const own = attached.filter((signal) => !areDifferent(lead, authorOf(signal)));
  const signals = new Map(own.map((signal) => [signal.id, signal]));
  const keys = new Set([...personKeys(lead), ...own.flatMap((signal) => personKeys(authorOf(signal)))]);
  for (let known = -1; known < keys.size; ) {
    known = keys.size;
    for (const signal of await store.findSignalsOfPerson(tenantId, [...keys])) {
      signals.set(signal.id, signal);
      for (const key of personKeys(authorOf(signal))) keys.add(key);
    }
  }
  return { keys: [...keys], signals: [...signals.values()] };
}

function authorOf({ wire }: PersonalSignal): Signal['prospect'] {
  return (JSON.parse(wire) as Signal).prospect;
}

/** What tells of the person wherever it stands: addresses, profiles. A name alone may be another's. */
function mentionsOf(lead: Lead, { keys, signals }: Person): string[] {
  const addresses = keys.flatMap((key) => (key.startsWith('email:') ? [key.slice('email:'.length)] : []));
  const profiles = [lead.linkedin_url, ...signals.map((signal) => authorOf(signal).linkedin_url)]
    .map(linkedinProfile)
    .filter((profile) => profile !== null)
    .flatMap((profile) => [profile, profile.split('/').map(encodeURIComponent).join('/').toLowerCase()])
    .map((profile) => `linkedin.com/${profile}`);
  return [...new Set([...addresses, ...profiles])];
}

/** Events that name the person without being about them, such as digests and replies, of whatever kind. */
async function sweepEvents(
  store: Store,
  who: Pick<EventScan, 'tenantId' | 'texts' | 'signalIds'>,
): Promise<string[]> {
  const eventIds: string[] = [];
  let after: EventScan['after'] = null;
  do {
    const { ids, last }: ScannedEvents = await store.findEventsNaming({
      ...who,
      after,
      limit: EVENTS_AT_ONCE,
    });
    eventIds.push(...ids);
    after = last;
    await new Promise((resolve) => setImmediate(resolve));
  } while (after !== null);
  return eventIds;
}
