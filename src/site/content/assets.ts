import { createHash } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import type { ContentFault } from './content-error.ts';
import { type ImageSize, imageSize } from './image-size.ts';

/** A file that pages need, under an address that changes with its bytes: it may be cached for ever. */
export interface Asset {
  path: string;
  contentType: string;
  body: Buffer;
}

/** An asset by the name that pages call it by; `size` is null for what is no image. */
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

/** The files of `assets/`, by the path that pages write, such as `/assets/van.jpg`. */
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
    return `Files of this kind are not served; known are ${known}.`;
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
