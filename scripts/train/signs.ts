/**
 * The sign of a feature's weight by common sense, against which a few examples may point by chance: a date never makes a
 * request weaker, and a seller is not a buyer. Weights with the opposite sign are omitted.
 */
const NEVER_LESS =
  /^(?:date|budget|willing_to_pay|fit|(?:seek|need)\.own|consider\.own|recommend|alternative|topic\.(?:phrases?|competitors?|title|asked|asked_again))$/;
const NEVER_MORE =
  /^(?:misfit|topic\.none|job_seeker|seller|already_bought|(?:seek|need)\.(?:denied|reader))$/;

/** Whether a feature's weight has the opposite sign. */
export function isAbsurd(name: string, weight: number): boolean {
  return (weight < 0 && NEVER_LESS.test(name)) || (weight > 0 && NEVER_MORE.test(name));
}
