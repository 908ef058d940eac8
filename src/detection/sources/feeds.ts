import type { Parser } from '../documents/parser.ts';
import { decodeText, feedLinkIn, readFeed } from '../feed.ts';
import { demandSuccess, type Reader, type ReadingTask, validatorsOf } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';
import type { FetchedPage } from '../web.ts';

const ACCEPT =
  'application/atom+xml, application/rss+xml, application/rdf+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.1';

/** The items of a feed; of a web page, where it is one and that is of interest, the feed that it names. */
export const feedDocument: Parser<{ orLink: boolean }, { items: SourceItem[]; link: string | null }> = {
  name: 'feed',
  parse({ body, contentType, url }, { orLink }) {
    const text = decodeText(body, contentType);
    const link = orLink ? feedLinkIn(text, url) : null;
    return link === null || link === url ? { items: readFeed(text, url), link: null } : { items: [], link };
  },
};

/** Any RSS, Atom, RDF or JSON feed; of a web page the feed that it names, which is remembered. */
export const readFeedSource: Reader = async (task) => {
  const { source, position } = task;
  const address = source.settings.url ?? '';
  const found = position.cursor ?? null;
  const page = await ask(task, found ?? address);
  if (page.status === 304) return { items: [], position };
  // A feed that is gone from where the page named it: the page names another, or nothing.
  if (found !== null && (page.status === 404 || page.status === 410)) {
    return readAt(
      task,
      await ask({ ...task, position: { ...position, etag: null, lastModified: null } }, address),
      null,
    );
  }
  return readAt(task, page, found);
};

async function readAt(task: ReadingTask, page: FetchedPage, found: string | null) {
  const { items, link } = await task.parse(feedDocument, demandSuccess(page), { orLink: found === null });
  if (link !== null) {
    const start = { ...task, position: { ...task.position, etag: null, lastModified: null } };
    return readAt(task, await ask(start, link), link);
  }
  return { items, position: { ...validatorsOf(page), cursor: found } };
}

function ask({ web, position: { etag, lastModified } }: ReadingTask, address: string): Promise<FetchedPage> {
  return web.read(address, { accept: ACCEPT, etag, lastModified, robots: true });
}
