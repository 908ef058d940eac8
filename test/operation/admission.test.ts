import { expect, onTestFinished, test } from 'vitest';
import { buildTestApp } from '../support/app.ts';

async function open(env: Record<string, string> = {}) {
  const t = await buildTestApp({ env });
  onTestFinished(() => t.app.close());
  return (headers: Record<string, string> = {}, remoteAddress = '127.0.0.1', url = '/metrics') =>
    t.app.inject({ url, headers, remoteAddress });
}

test.each(['/metrics', '/ready'])('without a token, %s is served only to this machine', async (url) => {
  const ask = await open();
  for (const own of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1']) {
    expect([own, (await ask({}, own, url)).statusCode]).toEqual([own, 200]);
  }
  for (const other of ['192.0.2.1', '10.0.0.1', '2001:db8::1', '::ffff:10.0.0.1']) {
    const answer = await ask({}, other, url);
    expect([other, answer.statusCode]).toEqual([other, 401]);
    expect(answer.json()).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(answer.headers['www-authenticate']).toContain('Bearer');
  }
});

test('a request forwarded by a proxy on this machine does not count as from this machine', async () => {
  const ask = await open();
  for (const name of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip']) {
    expect((await ask({ [name]: '127.0.0.1' })).statusCode).toBe(401);
  }
});

test.each(['/metrics', '/ready'])(
  'with a token, %s is served only to callers that present it',
  async (url) => {
    const ask = await open({ ADMIN_METRICS_TOKEN: 'open sesame' });
    for (const scheme of ['Bearer', 'bearer']) {
      expect((await ask({ authorization: `${scheme} open sesame` }, '192.0.2.1', url)).statusCode).toBe(200);
    }
    for (const shown of [
      '',
      'open sesame',
      'Bearer',
      'Bearer open',
      'Bearer open sesame!',
      'Basic open sesame',
    ]) {
      const answer = await ask({ authorization: shown }, '127.0.0.1', url);
      expect([shown, answer.statusCode]).toEqual([shown, 401]);
      expect(answer.body).not.toContain('sesame');
    }
  },
);
