import { FAVICON_PATH } from '../addresses.ts';
import type { Asset, NamedAsset } from './assets.ts';
import type { SiteIdentity } from './identity.ts';

/** The icon of browser tabs: that of `site.json`, or the name's first letter on the accent. */
export function faviconOf({
  identity,
  assets,
}: {
  identity: SiteIdentity;
  assets: ReadonlyMap<string, NamedAsset>;
}): Asset {
  const own = assets.get(`/assets/${identity.icon}`);
  if (own !== undefined) return { path: FAVICON_PATH, contentType: own.contentType, body: own.body };
  const [letter = ''] = [...identity.name].filter((point) => /[\p{L}\p{N}]/u.test(point));
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"><rect width="32" height="32" rx="7" fill="${identity.accent}"/><text x="16" y="23" text-anchor="middle" font-family="system-ui, sans-serif" font-size="20" font-weight="700" fill="#fff">${letter.toUpperCase()}</text></svg>\n`;
  return { path: FAVICON_PATH, contentType: 'image/svg+xml', body: Buffer.from(svg) };
}
