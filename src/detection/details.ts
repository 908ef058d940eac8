import { isOfPart, type Reading, type ReadingTask } from './reader.ts';
import { SourceFault, type SourceItem, STOPPED, TOO_COSTLY } from './source-item.ts';

/** Failed requests for the details of an item, each in a run of its own, after which it is read without them. */
const MOST_TRIES = 3;
/** Failed requests in a row after which a run requests no further details: probably, all of them fail. */
const MOST_FAILED = 5;
const MAX_TITLE = 100;

/**
 * Reads items whose details take a request each, `most` per run. An item whose details fail costs no other item: it is left
 * to later runs, after those never tried, and finally read as it is listed. The run still counts as failed, so that its owner
 * knows and the source backs off.
 * @throws SourceFault if the service asks for a pause, or the run's time is up, before anything was read
 */
export async function readDetails(
  task: Pick<ReadingTask, 'isNew' | 'isOver'>,
  wanted: readonly SourceItem[],
  most: number,
  read: (item: SourceItem) => Promise<SourceItem>,
): Promise<Required<Pick<Reading, 'items' | 'fault' | 'more'>>> {
  const queue = wanted
    .map((item) => ({ item, tries: triesOf(task, item) }))
    .sort((a, b) => a.tries - b.tries)
    .slice(0, most);
  const items: SourceItem[] = [];
  const unread: SourceItem[] = [];
  let inRow = 0;
  let last: SourceFault | null = null;
  for (const { item, tries } of queue) {
    try {
      items.push(await read(item));
      inRow = 0;
    } catch (error) {
      if (!isOfPart(error, task)) {
        if (items.length === 0 || !(error instanceof SourceFault) || error.code === STOPPED) throw error;
        return { items, fault: error, more: true };
      }
      items.push(tries + 1 < MOST_TRIES ? attempt(item, tries + 1) : item);
      unread.push(item);
      last = error;
      inRow++;
      if (inRow === MOST_FAILED || error.code === TOO_COSTLY) break;
    }
  }
  return { items, fault: last && faultOf(unread, last), more: wanted.length > queue.length };
}

/** A failed attempt, which is remembered like an item. No post is made of it, because it has no text. */
function attempt({ id, platform }: SourceItem, tries: number): SourceItem {
  return { id: attemptId(id, tries), platform, url: '', postedAt: null, title: '', body: '', author: '' };
}

function attemptId(id: string, tries: number): string {
  return `${id} attempt ${tries}`;
}

function triesOf({ isNew }: Pick<ReadingTask, 'isNew'>, { id }: SourceItem): number {
  let tries = MOST_TRIES - 1;
  while (tries > 0 && isNew(attemptId(id, tries))) tries--;
  return tries;
}

function faultOf(unread: readonly SourceItem[], { message }: SourceFault): SourceFault {
  const which = unread.length === 1 ? '1 item' : `${unread.length} items`;
  const title = unread[0]?.title.slice(0, MAX_TITLE) ?? '';
  return new SourceFault(
    'details_unavailable',
    `The details of ${which} could not be read, first of "${title}". After ${MOST_TRIES} attempts, an item is read without them. ${message}`,
  );
}
