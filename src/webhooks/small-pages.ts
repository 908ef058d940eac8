/** The maximum size of all events of a page, in characters; a single event may be larger. Copying a hundred events of 400,000 characters took 0.5 s. */
const MOST_CHARACTERS = 1_000_000;

interface EventPage {
  rows: readonly { data: string }[];
}

/** Reads up to `limit` events, or fewer if they are large. Also returns the limit used, and whether the events are small enough to raise it. */
export async function readSmallPage<P extends EventPage>(
  read: (limit: number) => Promise<P>,
  limit: number,
): Promise<{ page: P; limit: number; isSmall: boolean }> {
  let used = limit;
  let page = await read(used);
  while (used > 1 && charactersOf(page) > MOST_CHARACTERS) {
    used = Math.ceil(used / 5);
    page = await read(used);
  }
  return { page, limit: used, isSmall: charactersOf(page) < MOST_CHARACTERS / 5 };
}

function charactersOf({ rows }: EventPage): number {
  return rows.reduce((sum, { data }) => sum + data.length, 0);
}
