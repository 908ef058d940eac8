import type { SiteIdentity } from './identity.ts';
import type { ContentFault } from './page-file.ts';

const OPERATIONS_MARK = /\{\{ ?operations:([^}]*)\}\}/g;

/** `{{operations: Leads, Pipeline}}`: where the operations of these tags of the signal API are put in. */
export interface OperationsMark {
  /** As it is written. */
  text: string;
  /** The names between the commas, whether or not there are such tags. */
  tags: readonly string[];
  /** Lines of the body above it. */
  linesAbove: number;
}

/** The marks of a page's body, in their order. */
export function operationsMarks(body: string): OperationsMark[] {
  return [...body.matchAll(OPERATIONS_MARK)].map(({ 0: text, 1: tags = '', index }) => ({
    text,
    tags: tags.split(',').map((tag) => tag.trim()),
    linesAbove: linesAbove(body, index),
  }));
}

function linesAbove(body: string, offset: number): number {
  return body.slice(0, offset).split('\n').length - 1;
}

const PLACEHOLDER = /\{\{ ?([a-z_]+) ?\}\}/g;

/** What pages may write as `{{phone}}`, so that a number or an address stands in one place, `site.json`. */
export function placeholderValues(identity: SiteIdentity, baseUrl: string): ReadonlyMap<string, string> {
  const { name, email, phone, address } = identity;
  return new Map([
    ['name', name],
    ['email', email],
    ['phone', phone],
    ['phone_link', phoneLink(phone)],
    ['address', `${address.street}, ${address.town}, ${address.region} ${address.postcode}`],
    ['town', address.town],
    ['base_url', baseUrl],
    ['host', new URL(baseUrl).hostname],
  ]);
}

/** The address that dials `phone`. */
export function phoneLink(phone: string): string {
  return `tel:${phone.replace(/[^\d+]/g, '')}`;
}

/** `body` with its placeholders filled in; an unknown one is a fault on its own line. */
export function fillPlaceholders(
  { file, body, bodyLine }: { file: string; body: string; bodyLine: number },
  values: ReadonlyMap<string, string>,
  faults: ContentFault[],
): string {
  return body.replace(PLACEHOLDER, (whole, name: string, offset: number) => {
    const value = values.get(name);
    if (value !== undefined) return value;
    const line = bodyLine + linesAbove(body, offset);
    const known = [...values.keys()].join(', ');
    faults.push({ file, line, detail: `There is no placeholder "${whole}"; known are ${known}.` });
    return whole;
  });
}
