/** Plurals by form only, whose singular is another word: "news" is not about what is "new". */
const NO_PLURAL = new Set(['news', 'goods', 'means', 'customs', 'always', 'perhaps', 'across', 'besides']);
const IRREGULAR = new Map([
  ['women', 'woman'],
  ['men', 'man'],
  ['children', 'child'],
  ['apis', 'api'],
  ['kpis', 'kpi'],
]);

/**
 * One form for singular and plural of an English word: `companies` and `company`, `taxes` and `tax`, `CRMs` and `CRM`.
 * It need not be a word itself (`licens`, `movy`): both numbers only have to come to the same. Takes folded words; those
 * of up to three letters stay, so that acronyms do (`ATS`, `SMS`, `AWS`).
 */
export function stem(word: string): string {
  const last = word.charAt(word.length - 1);
  if (word.length <= 3 || (last !== 's' && last !== 'e' && last !== 'n')) return word;
  const irregular = IRREGULAR.get(word);
  if (irregular !== undefined) return irregular;
  return last === 'n' ? word : singularEnd(isPlural(word) ? word.slice(0, -1) : word);
}

function isPlural(word: string): boolean {
  if (!word.endsWith('s') || NO_PLURAL.has(word)) return false;
  const before = word.charAt(word.length - 2);
  return before !== 's' && before !== 'u' && before !== 'i' && !(before >= '0' && before <= '9');
}

/** What cutting an `s` leaves in doubt: `taxe` is `tax`, but `cache` is no `cach`. So both lose the `e`. */
function singularEnd(word: string): string {
  if (!word.endsWith('e')) return word.length > 5 && word.endsWith('sis') ? word.slice(0, -2) : word;
  const before = word.charAt(word.length - 2);
  if (before === 'i') return `${word.slice(0, -2)}y`;
  const isSibilant = before === 'h' ? /[cs]h/.test(word.slice(-3, -1)) : 'sxzo'.includes(before);
  return isSibilant ? word.slice(0, -1) : word;
}
