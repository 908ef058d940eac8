/** Hosts whose links lead elsewhere, and the parameter that says where. */
const WRAPPERS: [host: RegExp, path: RegExp, parameters: string[]][] = [
  [/^(www\.)?google\.[a-z.]{2,6}$/, /^\/url$/, ['url', 'q']],
  [/^(www\.)?bing\.com$/, /^\/news\/apiclick\.aspx$/, ['url']],
  [/^lm?\.facebook\.com$/, /^\/l\.php$/, ['u']],
  [/^out\.reddit\.com$/, /./, ['url']],
  [/^(www\.)?youtube\.com$/, /^\/redirect$/, ['q']],
  [/\.safelinks\.protection\.outlook\.com$/, /./, ['url']],
  [/^t\.umblr\.com$/, /^\/redirect$/, ['z']],
];
const MAX_LAYERS = 3;

/** The address that a link leads to in the end, where the link itself says so. */
export function unwrapLink(link: string): string {
  let address = link;
  for (let layer = 0; layer < MAX_LAYERS; layer++) {
    const inner = innerOf(address);
    if (inner === null) return address;
    address = inner;
  }
  return address;
}

function innerOf(address: string): string | null {
  const url = URL.parse(address);
  if (url === null) return null;
  const wrapper = WRAPPERS.find(([host, path]) => host.test(url.hostname) && path.test(url.pathname));
  const target =
    wrapper?.[2].map((name) => url.searchParams.get(name)).find((value) => value !== null) ?? null;
  const inner = target === null ? null : URL.parse(target);
  return inner !== null && /^https?:$/.test(inner.protocol) ? inner.href : null;
}
