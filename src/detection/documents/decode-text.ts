const BOMS: [label: string, bytes: number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];
/** Only the beginning of a document is searched for a declared encoding. */
const HEAD_BYTES = 1_024;
/** Encodings in which any byte sequence is valid. */
const ONE_BYTE = /^(windows-|iso-8859-|koi8-|macintosh|x-mac-|ibm)/;
const KANA = /[\u3041-\u30fa]/;

/**
 * Decodes a document in the encoding of its byte order mark, its `Content-Type` or its XML declaration, in
 * this order (RFC 7303, section 3.2), except for UTF-16, which only its bytes show. Without any of these, and if it is not
 * UTF-8, it is decoded as browsers do.
 */
export function decodeText(bytes: Uint8Array, contentType: string): string {
  const marked = BOMS.find(([, bom]) => bom.every((byte, i) => bytes[i] === byte));
  if (marked !== undefined) return new TextDecoder(marked[0]).decode(bytes);
  const label = wideWithoutMark(bytes) ?? narrow(charsetOf(contentType)) ?? narrow(declaredIn(bytes));
  // Labels are often wrong. Other encodings are hardly ever valid UTF-8 by chance, and invalid UTF-8 cannot
  // be UTF-8.
  const mislabelled = label !== null && (label === 'utf-8' || ONE_BYTE.test(label));
  if (mislabelled) {
    const text = strictly('utf-8', bytes);
    if (text !== null) return text;
    if (label === 'utf-8') return repaired(bytes, declaredIn(bytes));
  }
  if (label !== null) return new TextDecoder(label).decode(bytes);
  return strictly('utf-8', bytes) ?? japanese(bytes) ?? new TextDecoder('windows-1252').decode(bytes);
}

/**
 * Decodes a document that is labelled as UTF-8 but is not: in the encoding that it declares, otherwise as
 * UTF-8 if only a few characters are invalid, otherwise as browsers do.
 */
function repaired(bytes: Uint8Array, declared: string | null): string {
  const inside = narrow(declared);
  if (inside !== null && inside !== 'utf-8') return new TextDecoder(inside).decode(bytes);
  const lossy = new TextDecoder('utf-8').decode(bytes);
  const broken = lossy.split('\ufffd').length - 1;
  const letters = lossy.match(/[\u0080-\ufffc]/g)?.length ?? 0;
  if (letters > broken) return lossy;
  return japanese(bytes) ?? new TextDecoder('windows-1252').decode(bytes);
}

function charsetOf(contentType: string): string | null {
  return /;\s*charset\s*=\s*"?([\w:.-]+)/i.exec(contentType)?.[1] ?? null;
}

function declaredIn(bytes: Uint8Array): string | null {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, HEAD_BYTES));
  return /<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w:.-]+)["']/i.exec(head)?.[1] ?? null;
}

/** Detects UTF-16 without a byte order mark by the first character, which is `<` or `{`. */
function wideWithoutMark(bytes: Uint8Array): string | null {
  if (bytes[0] === 0 && bytes[1] !== 0) return 'utf-16be';
  return bytes[1] === 0 && bytes[0] !== 0 ? 'utf-16le' : null;
}

/**
 * The encoding of a label, unless it is UTF-16, which is recognized by its bytes: .NET writes `encoding="utf-16"` into documents
 * that it then sends as UTF-8.
 */
function narrow(label: string | null): string | null {
  if (label === null) return null;
  try {
    const { encoding } = new TextDecoder(label);
    return encoding.startsWith('utf-16') ? null : encoding;
  } catch {
    return null; // an unknown label
  }
}

function japanese(bytes: Uint8Array): string | null {
  const text = strictly('shift_jis', bytes);
  return text !== null && KANA.test(text) ? text : null;
}

function strictly(label: string, bytes: Uint8Array): string | null {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
