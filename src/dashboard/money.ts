import { LRUCache } from 'lru-cache';

/** To make one takes 50 us, and a board of leads shows a hundred amounts. */
const formats = new LRUCache<string, Intl.NumberFormat>({ max: 100 });

function formatOf(currency: string, isWhole: boolean): Intl.NumberFormat {
  const key = `${currency} ${isWhole}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  const format = new Intl.NumberFormat('en', {
    ...{ style: 'currency', currency, currencyDisplay: 'code' },
    ...(isWhole ? { minimumFractionDigits: 0, maximumFractionDigits: 0 } : {}),
  });
  formats.set(key, format);
  return format;
}

/** An amount in the smallest unit of a currency, in words: 129900 USD is "USD 1,299". */
export function money(amountMinor: number, currency: string): string {
  const digits = digitsOf(currency);
  const shown = formatOf(currency, amountMinor % 10 ** digits === 0);
  return shown.format(amountMinor / 10 ** digits).replace(/\s/gu, ' ');
}

/** An amount as a form holds it, such as "1299.50". */
export function plainAmount(amountMinor: number, currency: string): string {
  const digits = digitsOf(currency);
  return (amountMinor / 10 ** digits).toFixed(digits);
}

/** What a form says in whole units, in the smallest unit; text that is no amount of that currency stays text. */
export function minorAmount(typed: string, currency: string): number | string {
  const plain = typed.trim().replaceAll(/[,\s]/g, '');
  const [, whole = '', part = ''] = /^(\d{1,12})(?:\.(\d{1,4}))?$/.exec(plain) ?? [];
  if (whole === '' || !/^[A-Za-z]{3}$/.test(currency)) return typed;
  const digits = digitsOf(currency);
  if (part.length > digits) return typed;
  return Number(whole) * 10 ** digits + Number(part.padEnd(digits, '0') || 0);
}

function digitsOf(currency: string): number {
  return formatOf(currency, false).resolvedOptions().maximumFractionDigits ?? 2;
}
