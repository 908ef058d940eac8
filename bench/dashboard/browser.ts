import { brotliDecompressSync } from 'node:zlib';
import { Pool } from 'undici';

/** The response to a request; `bytes` is the size of its body as transferred. */
interface Page {
  status: number;
  body: string;
  bytes: number;
}

/** A browser without rendering and scripts: cookies, forms, brotli. */
export interface Browser {
  get(path: string): Promise<Page>;
  signIn(token: string, password: string): Promise<void>;
}

export async function openBrowser(url: string): Promise<Browser> {
  const pool = new Pool(url, { connections: 1 });
  const cookies = new Map<string, string>();

  async function ask(path: string, form?: Record<string, string>): Promise<Page> {
    const { statusCode, headers, body } = await pool.request({
      path,
      method: form === undefined ? 'GET' : 'POST',
      headers: {
        'accept-encoding': 'br',
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form === undefined ? {} : { body: new URLSearchParams(form).toString() }),
    });
    for (const line of [headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const raw = Buffer.from(await body.arrayBuffer());
    const isPacked = headers['content-encoding'] === 'br';
    return {
      status: statusCode,
      body: String(isPacked ? brotliDecompressSync(raw) : raw),
      bytes: raw.length,
    };
  }

  return {
    get: (path) => ask(path),
    async signIn(token, password) {
      const [, csrf = ''] = /name="_csrf" value="([^"]+)"/.exec((await ask('/dashboard/setup')).body) ?? [];
      const { status } = await ask('/dashboard/setup', { token, password, _csrf: csrf });
      if (status !== 303) throw new Error(`not signed in: ${status}`);
    },
  };
}
