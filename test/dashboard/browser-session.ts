import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { renewSetupLink } from '../../src/accounts/links.ts';
import { createMailLimits } from '../../src/accounts/mail.ts';
import { type Invited, inviteMember } from '../../src/accounts/team.ts';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import type { Role } from '../../src/model/tenant.ts';
import type { TestApp } from '../support/app.ts';

export const PASSWORD = 'correct horse battery';

/** A browser without JavaScript: keeps cookies, follows no redirects, sends forms with their page's token. */
export class TestBrowser {
  readonly app: FastifyInstance;
  readonly cookies = new Map<string, string>();
  constructor(app: FastifyInstance) {
    this.app = app;
  }

  async get(url: string, headers: Record<string, string> = {}): Promise<LightMyRequestResponse> {
    return this.keep(await this.app.inject({ url, headers: { ...this.cookieHeader(), ...headers } }));
  }

  /** Sends `fields` to `url` with the token found on `page` (default: `url` itself). */
  async post(
    url: string,
    fields: Record<string, string | string[]>,
    page = url,
  ): Promise<LightMyRequestResponse> {
    const token = csrfOf((await this.get(page)).body);
    return this.send(url, { ...fields, _csrf: token });
  }

  async send(url: string, fields: Record<string, string | string[]>, headers: Record<string, string> = {}) {
    const payload = new URLSearchParams();
    for (const [name, value] of Object.entries(fields)) {
      for (const item of [value].flat()) payload.append(name, item);
    }
    return this.keep(
      await this.app.inject({
        method: 'POST',
        url,
        payload: payload.toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...this.cookieHeader(), ...headers },
      }),
    );
  }

  private cookieHeader(): Record<string, string> {
    if (this.cookies.size === 0) return {};
    return { cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
  }

  private keep(answer: LightMyRequestResponse): LightMyRequestResponse {
    for (const { name, value, maxAge, expires } of answer.cookies) {
      const isGone = maxAge === 0 || (expires !== undefined && expires.getTime() <= 0);
      if (isGone) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }
}

export function csrfOf(html: string): string {
  const [, token] = /name="_csrf" value="([^"]+)"/.exec(html) ?? [];
  if (token === undefined) throw new Error(`no form on the page: ${html.slice(0, 200)}`);
  return token;
}

/** A browser in which the tenant's owner is signed in through a set-up link. */
export async function signedIn({ app, store, clock }: TestApp, tenantId: string): Promise<TestBrowser> {
  const link = await renewSetupLink({ store, clock, random: systemRandom }, tenantId);
  const browser = new TestBrowser(app);
  const answer = await browser.post('/dashboard/setup', { token: link?.token ?? '', password: PASSWORD });
  if (answer.statusCode !== 303) throw new Error(`not signed in: ${answer.body}`);
  return browser;
}

/** A person invited by an owner. */
export function invite(
  { store, clock, tenant }: TestApp,
  asked: { email: string; role: Role },
): Promise<Invited> {
  const deps = {
    store,
    clock,
    random: systemRandom,
    newId: createIds(clock, systemRandom),
    secretBox: NO_BOX,
    mailLimits: createMailLimits(store, clock),
  };
  return inviteMember(deps, tenant, asked);
}

/** A browser in which a person invited by an owner is signed in. */
export async function memberSignedIn(
  made: TestApp,
  asked: { email: string; role: Role },
): Promise<TestBrowser> {
  const { token } = await invite(made, asked);
  const browser = new TestBrowser(made.app);
  const answer = await browser.post('/dashboard/setup', { token, password: PASSWORD });
  if (answer.statusCode !== 303) throw new Error(`not signed in: ${answer.body}`);
  return browser;
}

const NO_BOX = createSecretBox(Buffer.alloc(32), systemRandom);
