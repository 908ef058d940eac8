/** Sites that are called by a name of their own, whatever part of them a post is on. */
const NAMES: [host: string, name: string][] = [
  ['reddit.com', 'reddit'],
  ['github.com', 'github'],
  ['news.ycombinator.com', 'hackernews'],
  ['hnrss.org', 'hackernews'],
  ['stackoverflow.com', 'stackoverflow'],
  ['superuser.com', 'superuser'],
  ['serverfault.com', 'serverfault'],
  ['askubuntu.com', 'askubuntu'],
  ['linkedin.com', 'linkedin'],
  ['youtube.com', 'youtube'],
  ['medium.com', 'medium'],
];

/** What the platform of a post at `address` is called: its name where it is known, else its host. */
export function platformOf(address: string): string {
  const host = (URL.parse(address)?.hostname ?? '').replace(/^www\./, '').replace(/\.$/, '');
  const known = NAMES.find(([site]) => host === site || host.endsWith(`.${site}`));
  if (known !== undefined) return known[1];
  if (host.endsWith('.stackexchange.com')) return host.slice(0, -'.stackexchange.com'.length);
  const name = host
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
    .slice(0, 64);
  return name === '' ? 'web' : name;
}
