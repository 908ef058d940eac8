/** Takes a place for an owner; the result gives it back. Null: there is none now. */
export type Admission = (owner: string) => (() => void) | null;

/**
 * Creates an admission of at most `most` at a time, and of one owner at most `ofOwner`, and no more than remain free for
 * others.
 */
export function createAdmission(most: number, ofOwner: number): Admission {
  const taken = new Map<string, number>();
  let total = 0;
  return (owner) => {
    const own = taken.get(owner) ?? 0;
    if (own >= Math.min(ofOwner, most - total)) return null;
    taken.set(owner, own + 1);
    total++;
    return () => {
      total--;
      const left = (taken.get(owner) ?? 0) - 1;
      if (left > 0) taken.set(owner, left);
      else taken.delete(owner);
    };
  };
}
