import { readFeed } from '../feed.ts';
import { type Reader, validatorsOf } from '../reader.ts';
import { demandSuccess } from '../web.ts';

const ACCEPT =
  'application/atom+xml, application/rss+xml, application/rdf+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.1';

/** Any RSS, Atom, RDF or JSON feed. */
export const readFeedSource: Reader = async ({ source, position, web }) => {
  const { etag, lastModified } = position;
  const page = await web.read(source.settings.url ?? '', {
    accept: ACCEPT,
    etag,
    lastModified,
    robots: true,
  });
  if (page.status === 304) return { items: [], position, notBefore: 0 };
  demandSuccess(page);
  const items = readFeed({
    body: page.body,
    contentType: page.headers['content-type'] ?? '',
    url: page.url,
  });
  return { items, position: { ...validatorsOf(page), newestAt: null }, notBefore: 0 };
};
