/**
 * What common sense says of a feature, where few examples say otherwise by chance: a date never makes a request weaker,
 * and who sells is no buyer. What is learnt against it is left out.
 */
const NEVER_LESS =
  /^(?:date|budget|willing_to_pay|fit|(?:seek|need)\.own|consider\.own|recommend|alternative|topic\.(?:phrases?|competitors?|title|asked|asked_again))$/;
const NEVER_MORE =
  /^(?:misfit|topic\.none|job_seeker|seller|already_bought|(?:seek|need)\.(?:denied|reader))$/;

/** Whether a feature's weight contradicts it. */
export function isAbsurd(name: string, weight: number): boolean {
  return (weight < 0 && NEVER_LESS.test(name)) || (weight > 0 && NEVER_MORE.test(name));
}
