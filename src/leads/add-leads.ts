import { createYielder } from '../lib/yielding.ts';
import { DomainError } from '../model/errors.ts';
import type { LeadInput } from '../model/lead.ts';
import { personKeys } from '../model/person-keys.ts';
import { type AddedLead, addLead } from './add-lead.ts';
import type { LeadCaller } from './changes.ts';
import { conclude } from './enrich.ts';
import { fillFacts } from './facts.ts';
import { incomingFacts } from './incoming.ts';
import { type LeadParts, PATIENCE_MS, patienceOf } from './patience.ts';
import { blankLead, identityKeys } from './person.ts';

/** What is one input's own fault: where the plan has no room for more leads, those that merge are taken still. */
const OWN_FAULTS: readonly string[] = ['INVALID_REQUEST', 'CONFLICT', 'PLAN_REQUIRED'];

/**
 * As many {@link addLead} as there are inputs, each on its own and with parts of its own: what is one input's own fault is its result. Each goes
 * on when the one before it is the store's to finish, so that they share their commits (100 leads on a busy machine: 0.1 s; one
 * after the other: 0.9 s); of two about one person the first makes the lead, as a reader of the batch expects.
 */
export async function addLeads(
  partsOf: (item: string) => LeadParts,
  caller: LeadCaller,
  inputs: readonly LeadInput[],
): Promise<(AddedLead | DomainError)[]> {
  const lastOf = new Map<string, Promise<unknown>>();
  const results: Promise<AddedLead | DomainError>[] = [];
  const { clock } = partsOf('');
  const nextTurn = createYielder(clock);
  // One for all of them: a hundred leads of one person wait for each other.
  const until = clock.monotonic() + PATIENCE_MS;
  for (const [index, input] of inputs.entries()) {
    const keys = keysOf(input);
    const before = keys.flatMap((key) => lastOf.get(key) ?? []);
    const handedOver = Promise.withResolvers<void>();
    const waits = { patience: patienceOf(partsOf(String(index)), until), onHandedOver: handedOver.resolve };
    const result = Promise.allSettled(before).then(() =>
      addOne(partsOf(String(index)), caller, { input, waits }),
    );
    for (const key of keys) lastOf.set(key, result);
    results.push(result);
    // One is read and scored after the other: all that were begun in one turn would hold up others together.
    await Promise.race([handedOver.promise, result]).catch(() => {}); // told below, with the others
    await nextTurn();
  }
  return Promise.all(results);
}

async function addOne(
  parts: LeadParts,
  caller: LeadCaller,
  { input, waits }: { input: LeadInput; waits: Parameters<typeof addLead>[3] },
): Promise<AddedLead | DomainError> {
  try {
    return await addLead(parts, caller, input, waits);
  } catch (error) {
    // Anything else, such as a full disk, is the fault of the whole batch.
    const isOwnFault = error instanceof DomainError && OWN_FAULTS.includes(error.code);
    if (isOwnFault) return error;
    throw error;
  }
}

/** What tells that two inputs are about one person or post. What only stored signals tell is found out when it is stored. */
function keysOf(input: LeadInput): string[] {
  const person = conclude(fillFacts(blankLead('', 0), incomingFacts(input, []), 0), 0);
  const { prospect, platform, external_id } = input.signal ?? {};
  const author = { email: prospect?.email ?? '', linkedin_url: prospect?.linkedin_url ?? '' };
  return [
    ...identityKeys(person),
    ...input.signal_ids,
    ...personKeys(author),
    ...(external_id ? [external_id] : []),
    ...(platform?.post_url ? [platform.post_url] : []),
  ];
}
