/** Width and height in pixels: a page reserves an image's place by them, so that nothing moves when it comes. */
export interface ImageSize {
  width: number;
  height: number;
}

/** The size of an SVG, PNG, JPEG or WebP image, or null where the bytes are none of these. */
export function imageSize(bytes: Buffer): ImageSize | null {
  if (bytes.length < 30) return null;
  if (bytes.toString('latin1', 1, 4) === 'PNG') {
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  }
  if (bytes.readUInt16BE(0) === 0xffd8) return jpegSize(bytes);
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP')
    return webpSize(bytes);
  return svgSize(bytes.toString('utf8', 0, 2_000));
}

function svgSize(text: string): ImageSize | null {
  const open = /<svg\b[^>]*>/.exec(text)?.[0];
  const width = Number(/\bwidth="([\d.]+)(?:px)?"/.exec(open ?? '')?.[1]);
  const height = Number(/\bheight="([\d.]+)(?:px)?"/.exec(open ?? '')?.[1]);
  return open !== undefined && width > 0 && height > 0 ? { width, height } : null;
}

/** Walks the segments up to the frame header, which is the only one with the size (ITU T.81, B.2.2). */
function jpegSize(bytes: Buffer): ImageSize | null {
  let offset = 2;
  while (offset + 9 < bytes.length && bytes[offset] === 0xff) {
    const marker = bytes[offset + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: bytes.readUInt16BE(offset + 5), width: bytes.readUInt16BE(offset + 7) };
    offset += 2 + bytes.readUInt16BE(offset + 2);
  }
  return null;
}

/** The three forms of a WebP file keep the size in three places (RFC 9649, section 2). */
function webpSize(bytes: Buffer): ImageSize | null {
  const form = bytes.toString('latin1', 12, 16);
  if (form === 'VP8X') return { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) };
  if (form === 'VP8 ') {
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  }
  if (form !== 'VP8L') return null;
  const bits = bytes.readUInt32LE(21);
  return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >> 14) & 0x3fff) };
}
