import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { readPalette } from '../http/palette.ts';
import { CACHE_FOR_EVER, represent, sendRepresentation } from '../http/representation.ts';

/** In the order in which later rules win. */
const STYLES = [
  ...['tokens.css', 'base.css', 'frame.css', 'parts.css', 'forms.css', 'tables.css'],
  ...['screens.css', 'work.css', 'lists.css', 'inbox.css', 'find.css', 'plots.css'],
];

/** Addresses of the stylesheet, the scripts and the icon, each made of the file's bytes. */
export interface Assets {
  style: string;
  scripts: string[];
  /** The script of the board, which only its screen loads. */
  board: string;
  /** The script of the inbox, which only its screen loads. */
  inbox: string;
  icon: string;
}

/** Serves what pages load besides themselves; without a session, as it tells nothing. */
export async function addAssets(app: FastifyInstance): Promise<Assets> {
  const styles = await Promise.all([readPalette(), ...STYLES.map((name) => read(`./styles/${name}`))]);
  return {
    style: serve(
      app,
      { name: 'dashboard', ending: 'css', type: 'text/css; charset=utf-8' },
      styles.join('\n'),
    ),
    scripts: await Promise.all(['dashboard', 'live', 'palette'].map((name) => serveScript(app, name))),
    board: await serveScript(app, 'board'),
    inbox: await serveScript(app, 'inbox'),
    icon: serve(app, { name: 'icon', ending: 'svg', type: 'image/svg+xml' }, await read('./styles/icon.svg')),
  };
}

async function serveScript(app: FastifyInstance, name: string): Promise<string> {
  const type = 'text/javascript; charset=utf-8';
  return serve(app, { name, ending: 'js', type }, await read(`./scripts/${name}.js`));
}

function read(name: string): Promise<string> {
  return readFile(new URL(name, import.meta.url), 'utf8');
}

function serve(
  app: FastifyInstance,
  { name, ending, type }: { name: string; ending: string; type: string },
  body: string,
): string {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 10);
  const path = `/assets/${name}.${hash}.${ending}`;
  const asset = represent({ body, contentType: type, cacheControl: CACHE_FOR_EVER, lastModified: null });
  app.get(path, { config: { open: true, isAsset: true } }, (request, reply) => {
    sendRepresentation(request, reply.removeHeader('cache-control'), asset);
  });
  return `${app.prefix}${path}`;
}
