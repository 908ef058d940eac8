/** Sites that no program may read without leave, by their own terms or robots.txt, and what people call them. */
const CLOSED: [host: RegExp, name: string][] = [
  [/(^|\.)linkedin\.com$/, 'LinkedIn'],
  [/(^|\.)(?:facebook|fb)\.com$/, 'Facebook'],
  [/(^|\.)instagram\.com$/, 'Instagram'],
  [/(^|\.)threads\.(?:net|com)$/, 'Threads'],
  [/(^|\.)(?:x|twitter)\.com$|^t\.co$/, 'X'],
  [/(^|\.)tiktok\.com$/, 'TikTok'],
  [/(^|\.)quora\.com$/, 'Quora'],
  [/(^|\.)nextdoor\.(?:com|co\.uk)$/, 'Nextdoor'],
  [/(^|\.)(?:g2|g2crowd)\.com$/, 'G2'],
  [/(^|\.)capterra\.(?:com|co\.uk|de|fr)$/, 'Capterra'],
  [/(^|\.)glassdoor\.(?:com|co\.uk|de)$/, 'Glassdoor'],
  [/(^|\.)indeed\.com$/, 'Indeed'],
  [/(^|\.)(?:discord\.com|discord\.gg)$/, 'Discord'],
  [/(^|\.)slack\.com$/, 'Slack'],
  [/(^|\.)whatsapp\.com$/, 'WhatsApp'],
  [/(^|\.)(?:telegram\.org|t\.me)$/, 'Telegram'],
];

/** The site of an address that programs may not read; null: none that is known. */
export function closedPlaceAt(address: string): string | null {
  const host = URL.parse(address)?.hostname ?? '';
  return CLOSED.find(([pattern]) => pattern.test(host))?.[1] ?? null;
}

/** Why such a site cannot be read, and the way to bring its posts in. */
export function closedPlaceWords(name: string): string {
  return `${name} does not let programs read its posts, so no source can. Send the posts you see there with POST /v1/signals, or import a file with "signalpost import FILE".`;
}
