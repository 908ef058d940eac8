/** The data of a page's events, at most, in characters: a hundred events of 400,000 took the message to the writer 0.5 s. A single one may be larger. */
const MOST_CHARACTERS = 1_000_000;

interface EventPage {
  rows: readonly { data: string }[];
}

/** Reads up to `limit` events, or fewer if they are large. Returns the limit that it used, and whether the events are few enough for a larger one. */
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
