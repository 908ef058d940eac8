import { createHash } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import type { ContentFault } from './page-file.ts';

/** A file used by pages, at a URL that changes with its content, so it can be cached forever. */
export interface Asset {
  path: string;
  contentType: string;
  body: Buffer;
}

/** An asset by the name used in pages; `size` is null if it is not an image. */
export interface NamedAsset extends Asset {
  size: ImageSize | null;
}

const IMAGE_TYPES: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
};
const OTHER_TYPES: Readonly<Record<string, string>> = { '.pdf': 'application/pdf' };

/** The files of `assets/`, by the path that pages use, such as `/assets/van.jpg`. */
export async function readAssets(
  contentDir: string,
  faults: ContentFault[],
): Promise<ReadonlyMap<string, NamedAsset>> {
  const assets = new Map<string, NamedAsset>();
  for await (const name of glob('assets/**/*.*', { cwd: contentDir })) {
    const file = join(contentDir, name);
    const body = await readFile(file);
    const extension = extname(name).toLowerCase();
    const contentType = IMAGE_TYPES[extension] ?? OTHER_TYPES[extension];
    const size = extension in IMAGE_TYPES ? imageSize(body) : null;
    const path = `/${name.split(sep).join('/')}`;
    const fault = faultOf({ path, contentType, isSized: size !== null || extension in OTHER_TYPES });
    if (contentType === undefined || fault !== null) {
      faults.push({ file, line: 1, detail: fault ?? 'It cannot be served.' });
    } else {
      assets.set(path, { ...hashed(path, body, contentType), size });
    }
  }
  return assets;
}

function faultOf(asset: { path: string; contentType: string | undefined; isSized: boolean }): string | null {
  if (asset.contentType === undefined) {
    const known = [...Object.keys(IMAGE_TYPES), ...Object.keys(OTHER_TYPES)].join(', ');
    return `Files of this type are not served; supported types are ${known}.`;
  }
  if (!/^[\w./-]+$/.test(asset.path)) return 'Name it with letters, digits, hyphens and underscores only.';
  if (!asset.isSized) return 'Its width and height cannot be read; an SVG needs both as numbers on its root.';
  return null;
}

/** `/assets/site.css` becomes `/assets/site.0a1b2c3d4e.css`. */
export function hashed(path: string, body: Buffer, contentType: string): Asset {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 10);
  return { path: path.replace(/(\.[^.]+)$/, `.${hash}$1`), contentType, body };
}

/** Width and height in pixels: pages reserve space for images, so that nothing shifts when they load. */
interface ImageSize {
  width: number;
  height: number;
}

/** The size of an SVG, PNG, JPEG or WebP image; null for other data. */
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

/** Skips segments up to the frame header, the only one with the size (ITU T.81, B.2.2). */
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

/** The three variants of WebP store the size in three places (RFC 9649, section 2). */
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
