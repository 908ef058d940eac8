/** Text of one shape and any length, which a parser, a pattern or a normalization may need superlinear time for. */
export interface Shape {
  name: string;
  /** Returns about this many UTF-16 units. */
  of(chars: number): string;
}

const repeat = (piece: string) => (chars: number) =>
  piece.repeat(Math.max(1, Math.floor(chars / piece.length)));
const halves = (first: string, second: string) => (chars: number) =>
  first.repeat(Math.ceil(chars / 2 / first.length)) + second.repeat(Math.floor(chars / 2 / second.length));
const ended = (start: string, piece: string, end: string) => (chars: number) =>
  start + repeat(piece)(chars - start.length - end.length) + end;

/** The repeated units, by the code that they target. */
const RUNS: Record<string, string> = {
  letters: 'a',
  words: 'word ',
  'words of one letter': 'a ',
  'words that match': 'looking for a CRM, budget approved. ',
  'opening brackets': '(',
  'opening brackets after letters': 'a (',
  'square brackets': '[',
  'links of markdown': '[a](',
  'angle brackets': '<',
  'closing angle brackets': '>',
  braces: '{',
  tags: '<a b="',
  'closed tags': '<p>a</p>',
  comments: '<!--',
  'sections of CDATA': '<![CDATA[',
  scripts: '<script>',
  slashes: '/',
  'segments that cannot be decoded': '/%',
  backslashes: '\\',
  'double quotes': '"',
  'single quotes': "'",
  'curly quotes': '“a” ',
  'opening curly quotes': '“',
  'quotes of mail': '> ',
  ampersands: '&',
  entities: '&lt;',
  'entities of entities': '&amp;lt;',
  'numbered entities': '&#120;',
  spaces: ' ',
  'no-break spaces': '\u00a0',
  'ideographic spaces': '\u3000',
  'line breaks': '\n',
  'line breaks of Windows': '\r\n',
  tabs: '\t',
  'lines of a space': ' \n',
  commas: ',',
  'commas and spaces': ', ',
  semicolons: ';',
  dots: '.',
  'dots and letters': 'a.',
  sentences: 'A b. ',
  'names of places with two meanings': 'Singapore ',
  'names of regions': 'EMEA, Nordics, US, ',
  'titles and industries': 'VP Sales, SaaS and Plumbing ',
  'question marks': '? ',
  hyphens: '-',
  'hyphens and letters': 'a-',
  underscores: '_',
  apostrophes: "a'",
  'at signs': '@',
  'at signs and letters': 'a@',
  mailboxes: 'a@b.c ',
  'mailboxes without an end': 'a@a.',
  addresses: 'https://a.b/c ',
  'schemes of addresses': 'https://',
  'per cent signs': '%',
  'per cent escapes': '%25',
  digits: '1',
  numbers: '1,000 ',
  'grouped digits': '1,',
  prices: '$1',
  'prices with a unit': '$1k ',
  dates: '2026-01-01 ',
  'Roman dots': 'i. ',
  asterisks: '*',
  'number signs': '#',
  'vertical bars': '|',
  colons: ': ',
  equals: '=',
  'plus signs': '+',
  dollars: '$',
  'letters of two cases': 'aA',
  'long s and sharp s': 'ſß',
  'dotted capital I': 'İ',
  'ligatures that unfold': '\ufdfa',
  'composed Greek': '\u1fa7',
  'Hangul of letters': '\u1112\u1161\u11ab',
  'flags of emoji': '🇩🇪',
  families: '👩‍👩‍👧‍👦',
  'skin tones': '👍🏽',
  'zero-width joiners': '\u200d',
  'marks of direction': '\u202e\u202c',
  'variation selectors': 'a\ufe0f',
  Chinese: '我们在找软件',
  Thai: 'เราหา',
};

/** All shapes. */
export const SHAPES: readonly Shape[] = [
  { name: 'combining marks', of: (chars) => `a${halves('\u0300', '\u0334')(chars - 1)}` },
  { name: 'marks of three classes', of: (chars) => `a${repeat('\u0315\u0300\u0334')(chars - 1)}` },
  { name: 'marks between spaces', of: (chars) => ` ${halves('\u0327', '\u0334')(chars - 2)} ` },
  { name: 'half surrogates', of: repeat('\ud800') },
  { name: 'control characters', of: repeat('\u0001\u007f') },
  { name: 'letters and a sign', of: ended('', 'a', '!') },
  { name: 'spaces and a letter', of: ended('a', ' ', 'a') },
  { name: 'line breaks and a letter', of: ended('a', '\n', 'a') },
  { name: 'brackets that close', of: halves('(', ')') },
  { name: 'tags that close', of: halves('<b>', '</b>') },
  { name: 'a host of many labels', of: ended('https://', 'a.', 'example/') },
  { name: 'a path of many parts', of: ended('https://a.example/', '../a/', '') },
  { name: 'a mailbox of many labels', of: ended('a@', 'a.', '') },
  { name: 'many different words', of: differentWords },
  { name: 'different words with commas', of: (chars) => differentWords(chars).replaceAll(' ', ', ') },
  ...Object.entries(RUNS).map(([name, piece]) => ({ name, of: repeat(piece) })),
];

function differentWords(chars: number): string {
  const words: string[] = [];
  let length = 0;
  for (let n = 1; length < chars; n++) {
    const word = (n * 7_919).toString(36);
    words.push(word);
    length += word.length + 1;
  }
  return words.join(' ').slice(0, chars);
}

/** Shapes allowed in a request head: visible ASCII or, with `spaces`, what a header value may contain. */
export function shapesOfHead(spaces: boolean): Shape[] {
  const allowed = spaces ? /^[\t\x20-\x7e]*$/ : /^[\x21-\x7e]*$/;
  return SHAPES.filter(({ of }) => allowed.test(of(200)));
}

/** JSON texts of about `bytes` that are costly to hold, walk or describe. */
export const JSON_SHAPES: readonly { name: string; of(bytes: number): string }[] = [
  { name: 'deep lists', of: (bytes) => halves('[', ']')(bytes) },
  {
    name: 'deep objects',
    of: (bytes) => `${repeat('{"a":')(bytes * 0.8)}1${'}'.repeat(Math.floor((bytes * 0.8) / 5))}`,
  },
  { name: 'a list of empty objects', of: (bytes) => `[${repeat('{},')(bytes - 5)}{}]` },
  { name: 'a list of nulls', of: (bytes) => `[${repeat('null,')(bytes - 7)}null]` },
  { name: 'a list of digits', of: (bytes) => `[${repeat('1,')(bytes - 4)}1]` },
  { name: 'a list of empty texts', of: (bytes) => `[${repeat('"",')(bytes - 5)}""]` },
  { name: 'an object of many members', of: manyMembers },
  { name: 'members of the same name', of: (bytes) => `{${repeat('"a":1,')(bytes - 8)}"a":1}` },
  { name: 'a number of many digits', of: repeat('1') },
  { name: 'a fraction of many digits', of: ended('0.', '1', '') },
  { name: 'a text of escapes', of: (bytes) => `"${repeat('\\u0061')(bytes - 2)}"` },
  { name: 'a text of quotes', of: (bytes) => `"${repeat('\\"')(bytes - 2)}"` },
  { name: 'a text without an end', of: ended('"', '\\\\', '') },
  { name: 'spaces', of: ended('', ' ', '{}') },
];

function manyMembers(bytes: number): string {
  const members: string[] = [];
  let length = 2;
  for (let n = 0; length < bytes; n++) {
    const member = `"${n.toString(36)}":0`;
    members.push(member);
    length += member.length + 1;
  }
  return `{${members.join(',')}}`;
}
