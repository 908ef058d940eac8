const BOMS: [label: string, bytes: number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];
/** As much of a document as is searched for the encoding it declares. */
const HEAD_BYTES = 1_024;
const KANA = /[\u3041-\u30fa]/;

/**
 * The text of a document in the encoding that its byte order mark, its `Content-Type` or its XML declaration names, in
 * this order (RFC 7303, section 3.2). What names none and is no UTF-8 is read as browsers would.
 */
export function decodeText(bytes: Uint8Array, contentType: string): string {
  const marked = BOMS.find(([, bom]) => bom.every((byte, i) => bytes[i] === byte));
  const label =
    marked?.[0] ?? known(charsetOf(contentType)) ?? known(declaredIn(bytes)) ?? wideWithoutMark(bytes);
  if (label !== null) return new TextDecoder(label).decode(bytes);
  return strictly('utf-8', bytes) ?? japanese(bytes) ?? new TextDecoder('windows-1252').decode(bytes);
}

function charsetOf(contentType: string): string | null {
  return /;\s*charset\s*=\s*"?([\w:.-]+)/i.exec(contentType)?.[1] ?? null;
}

function declaredIn(bytes: Uint8Array): string | null {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, HEAD_BYTES));
  return /<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w:.-]+)["']/i.exec(head)?.[1] ?? null;
}

/** UTF-16 without a mark shows in the first character, which is a `<` or a `{`. */
function wideWithoutMark(bytes: Uint8Array): string | null {
  if (bytes[0] === 0 && bytes[1] !== 0) return 'utf-16be';
  return bytes[1] === 0 && bytes[0] !== 0 ? 'utf-16le' : null;
}

function known(label: string | null): string | null {
  if (label === null) return null;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return null; // a label that nobody knows says nothing
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
