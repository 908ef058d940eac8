/** Reproducible random numbers (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const PLATFORMS = ['reddit', 'hackernews', 'linkedin', 'stackexchange', 'rss'];
const TYPES = [
  'intent_post',
  'intent_post',
  'intent_post',
  'qa_forum',
  'review',
  'job_change',
  'funding_event',
];
const OPENINGS = [
  'We are looking for a new CRM this month, budget is approved.',
  'Which booking system do you all use? The old one keeps crashing.',
  'Any alternatives to our answering service? It is too expensive.',
  'Nice weather on site today.',
  'Notes from the trade fair.',
  'Delighted to start a new position next week.',
  'How do you deal with late invoices?',
];
const SYLLABLES = [
  'ba',
  'ce',
  'di',
  'fo',
  'gu',
  'ha',
  'ke',
  'li',
  'mo',
  'nu',
  'pa',
  're',
  'si',
  'to',
  'vu',
  'za',
];
const VOCABULARY = 30_000;

/** The word of a rank: 0 is the most common. */
export function wordOf(rank: number): string {
  let rest = rank + SYLLABLES.length;
  let word = '';
  while (rest > 0) {
    word += SYLLABLES[rest % SYLLABLES.length];
    rest = Math.floor(rest / SYLLABLES.length);
  }
  return word;
}

/** Random ranks, distributed like the words of a language (Zipf). */
function createRanks(random: () => number): () => number {
  const sums: number[] = [];
  let sum = 0;
  for (let i = 0; i < VOCABULARY; i++) {
    sum += 1 / (i + 2);
    sums.push(sum);
  }
  return () => {
    const wanted = random() * sum;
    let low = 0;
    let high = VOCABULARY - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** Bodies of `POST /v1/signals`: about 300 characters, a third with a company, a fifth with a request. */
export function createPosts(seed: number): (n: number) => Record<string, unknown> {
  const random = seededRandom(seed);
  const rank = createRanks(random);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

  return (n) => {
    const words = Array.from({ length: 25 + Math.floor(random() * 25) }, () => wordOf(rank()));
    const domain = `firm${Math.floor(random() * 5_000)}.example`;
    const known = random() < 0.33;
    return {
      platform: {
        name: pick(PLATFORMS),
        post_url: `https://posts.example/${seed}/${n}`,
        posted_at: '2026-01-01T00:00:00.000Z',
      },
      text: `${random() < 0.4 ? pick(OPENINGS) : ''} ${words.join(' ')}.`.trim(),
      external_id: `post-${seed}-${n}`,
      signal_type: pick(TYPES),
      prospect: {
        name: `${wordOf(rank())} ${wordOf(rank())}`,
        title: pick(['Owner', 'Manager', 'Engineer', '']),
        email: random() < 0.3 ? `person${n}@people.example` : '',
      },
      ...(known
        ? { company: { name: `Firm ${domain}`, domain, industry: 'Plumbing', location: 'Leeds' } }
        : {}),
    };
  };
}
