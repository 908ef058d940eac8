import { toIso } from '../lib/clock.ts';
import type { Delivery } from './receiver.ts';

const WHAT_TO_CHECK =
  "    Check that the secret is this endpoint's current one (a new one ends the old), and that nothing between changed the bytes.";

/** Whether a delivery passed; null where nothing was verified. */
export function isGenuine({ verifications }: Delivery): boolean | null {
  return verifications === null ? null : verifications.every(({ fault }) => fault === null);
}

/** A delivery for people: one line, and where it is not genuine what is wrong and what to look at. */
export function deliveryLines(delivery: Delivery): string[] {
  const { verifications, event, subject, attempt } = delivery;
  const time = toIso(delivery.receivedAt).slice(11, 19);
  const what = `${event} ${subject || '(no id)'}  attempt ${attempt || '?'}  ${delivery.id || '(no webhook-id)'}`;
  const faults = (verifications ?? []).filter(({ fault }) => fault !== null);
  if (verifications === null) return [`${time}  not verified  ${what}`];
  if (faults.length === 0)
    return [`${time}  verified  ${what}  (${verifications.map((v) => v.name).join(', ')})`];
  const passed = verifications.filter(({ fault }) => fault === null).map(({ name }) => `    ${name}: ok`);
  return [
    `${time}  !!! SIGNATURE MISMATCH !!!  ${what}`,
    ...faults.map(({ name, fault }) => `    ${name}: ${fault}`),
    ...passed,
    WHAT_TO_CHECK,
  ];
}

/** A delivery for programs: one line of JSON. */
export function deliveryJson(delivery: Delivery): string {
  const checks = delivery.verifications?.map(({ name, fault }) => [name, fault ?? 'ok']);
  return JSON.stringify({
    received_at: toIso(delivery.receivedAt),
    webhook_id: delivery.id,
    event: delivery.event,
    subject_id: delivery.subject,
    attempt: Number(delivery.attempt),
    verified: isGenuine(delivery),
    checks: checks === undefined ? null : Object.fromEntries(checks),
    body: delivery.body ?? null,
  });
}
