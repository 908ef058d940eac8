import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { mailText } from '../../src/accounts/compose-mail.ts';
import { createFeedbackLinks, sealToken } from '../../src/accounts/links.ts';
import { type OutgoingMail, type SendMail, workOutbox } from '../../src/accounts/mail.ts';
import { createSmtpSender } from '../../src/accounts/smtp.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createCursors } from '../../src/lib/cursor.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import type { MailFacts } from '../../src/model/mail.ts';
import type { Store } from '../../src/store/store.ts';
import { RECEIVERS, TEST_CA } from '../dispatcher/tls-fixture.ts';
import { ownCurveCertificates } from '../support/costly-certificates.ts';
import { cpuOf } from '../support/cpu-time.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { aTenant, openTestStore, T0 } from '../support/store.ts';
import { workForATurn } from '../support/turn.ts';

const PAUSED: MailFacts = {
  kind: 'endpoint_paused',
  endpointId: 'whk_1',
  label: 'CRM',
  host: 'crm.example.com',
  reason: 'failures',
};

const BOX = createSecretBox(Buffer.alloc(32), systemRandom);

let store: Store;
let clock: ManualClock;
let sent: OutgoingMail[];
let logged: { fields: Record<string, unknown>; message: string }[];

beforeEach(async () => {
  ({ store, clock } = await openTestStore());
  await store.createTenant(aTenant('ten_a'));
  sent = [];
  logged = [];
});

const add = (id = 'mal_1', facts: MailFacts = PAUSED) =>
  store.addMail({ id, tenantId: 'ten_a', facts, createdAt: clock.now() });

function work(send: SendMail | null = async (mail) => void sent.push(mail)): Promise<void> {
  const log = (fields: object, message: string) => void logged.push({ fields: { ...fields }, message });
  const baseUrl = 'https://signals.example.com';
  const feedbackLinks = createFeedbackLinks(createCursors(Buffer.alloc(32)), baseUrl);
  const deps = { store, clock, send, baseUrl, feedbackLinks, secretBox: BOX, log: { info: log, warn: log } };
  return workOutbox(deps);
}

const fails: SendMail = async () => {
  throw Object.assign(new Error('450 owner ten_a@example.com is away'), {
    code: 'EENVELOPE',
    responseCode: 450,
  });
};

test('mail of a tenant waits neither for the slow mail of another nor for all of it', async () => {
  await store.createTenant(aTenant('ten_b'));
  for (const n of [1, 2, 3]) await add(`mal_${n}`);
  await store.addMail({ id: 'mal_b', tenantId: 'ten_b', facts: PAUSED, createdAt: clock.now() });
  const slow = Promise.withResolvers<void>();
  const begun: string[] = [];
  const other = Promise.withResolvers<void>();
  const working = work(async ({ messageId }) => {
    begun.push(messageId);
    if (messageId === 'mal_b') return other.resolve();
    await slow.promise;
  });
  await other.promise;
  expect(begun).toEqual(['mal_1', 'mal_b']);
  clock.advance(20_000);
  slow.resolve();
  await working;
  expect(begun).toEqual(['mal_1', 'mal_b']);
  await work();
  expect(sent.map(({ messageId }) => messageId)).toEqual(['mal_2', 'mal_3']);
});

describe('mail about a paused endpoint', () => {
  test('goes to the owner and explains what happened, that nothing is lost, and how to resume', async () => {
    await add();
    await work();
    expect(sent).toEqual([
      {
        messageId: 'mal_1',
        to: 'ten_a@example.com',
        subject: 'Webhook paused: CRM',
        text: expect.stringContaining('its last 20 delivery attempts failed'),
        writtenAt: T0,
      },
    ]);
    expect(sent[0]?.text).toContain('Nothing is lost');
    expect(sent[0]?.text).toContain('POST https://signals.example.com/v1/webhooks/whk_1/resume');
    expect(sent[0]?.text).toContain(
      'https://signals.example.com/dashboard/settings/integrations/webhooks/whk_1\n',
    );
  });

  test('names the host of an endpoint without a label, and the 410 that paused it', async () => {
    await add('mal_1', { ...PAUSED, label: '', reason: 'gone' });
    await work();
    expect(sent[0]?.subject).toBe('Webhook paused: crm.example.com');
    expect(sent[0]?.text).toContain('410 Gone');
  });

  test('about a plan lists the endpoints that exceed it', async () => {
    await add('mal_1', {
      kind: 'endpoints_over_plan',
      plan: 'starter',
      limit: 1,
      endpointIds: ['whk_2', 'whk_3'],
    });
    await work();
    expect(sent[0]?.subject).toBe('2 webhooks paused: the starter plan includes 1');
    expect(sent[0]?.text).toContain('whk_2, whk_3');
  });
});

describe('the outbox', () => {
  test('sends each mail once', async () => {
    await add();
    await work();
    await work();
    expect(sent).toHaveLength(1);
    expect(await store.listMail('ten_a', 10)).toMatchObject([{ sentAt: clock.now(), tries: 1 }]);
  });

  test('retries with increasing delays and gives up after two days', async () => {
    await add();
    const waits: number[] = [];
    for (let i = 0; i < 20; i++) {
      await work(fails);
      const [mail] = await store.listMail('ten_a', 1);
      if (mail?.nextTryAt == null) break;
      waits.push((mail.nextTryAt - clock.now()) / 60_000);
      clock.advance(mail.nextTryAt - clock.now() - 1);
      await work();
      expect(sent).toEqual([]); // not a moment too early
      clock.advance(1);
    }
    expect(waits).toEqual([1, 5, 30, 120, 360, 720, 1_440]);
    expect(await store.listMail('ten_a', 10)).toMatchObject([{ tries: 8, nextTryAt: null, sentAt: null }]);
  });

  test('sends failed mail once the server accepts it', async () => {
    await add();
    await work(fails);
    clock.advance(60_000);
    await work();
    expect(sent.map((mail) => mail.messageId)).toEqual(['mal_1']);
  });

  test('does not hold up the next mail when one fails', async () => {
    await add('mal_1');
    await add('mal_2');
    await work(async (mail) => {
      if (mail.messageId === 'mal_1') throw new Error('no');
      sent.push(mail);
    });
    expect(sent.map((mail) => mail.messageId)).toEqual(['mal_2']);
  });

  test('drops mail that waited a week for a mail server to be configured', async () => {
    await add();
    clock.advance(7 * 86_400_000 + 1);
    await work();
    expect(sent).toEqual([]);
    expect(await store.dueMail(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
  });

  test('keeps mail when there is no mail server, and logs that once', async () => {
    await add();
    await work(null);
    await work(null);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toEqual({
      fields: { mailId: 'mal_1', tenantId: 'ten_a', kind: 'endpoint_paused' },
      message: expect.stringContaining('set SMTP_URL'),
    });
    await work();
    expect(sent).toHaveLength(1);
  });

  test('logs no personal data, whether mail is sent, kept or rejected', async () => {
    await add('mal_1');
    await work(null);
    await work(fails);
    clock.advance(60_000);
    await work();
    expect(logged).toHaveLength(3);
    expect(JSON.stringify(logged)).not.toContain('@');
    expect(logged[1]?.fields).toMatchObject({ fault: 'EENVELOPE 450', tries: 1 });
  });
});

function trustTestCa(): void {
  const usual = getCACertificates('default');
  onTestFinished(() => setDefaultCACertificates(usual));
  setDefaultCACertificates([...usual, TEST_CA]);
}

describe('over SMTP', () => {
  const mail: OutgoingMail = {
    messageId: 'mal_1',
    to: 'owner@example.com',
    subject: 'Grüße',
    text: 'Line one\n.\nline three',
    writtenAt: T0,
  };

  test('mail arrives with its sender, recipient, subject and id', async () => {
    await using server = await startSmtpServer();
    await createSmtpSender(server.url, 'Signalpost <post@signals.example.com>', systemClock)(mail);
    const [received] = server.received;
    expect(received).toMatchObject({ from: 'post@signals.example.com', to: ['owner@example.com'] });
    expect(received?.source).toMatch(/^Message-ID: <mal_1@signals\.example\.com>$/im);
    expect(received?.source).toMatch(/^Date: Thu, 01 Jan 2026 00:00:00 \+0000$/im);
    expect(received?.source).toMatch(/^Subject: =\?UTF-8\?Q\?Gr=C3=BC=C3=9Fe\?=$/im);
    expect(received?.source).toContain('line three');
  });

  const TLS_WAYS = [
    ['from the start with TLS 1.3', false, 'TLSv1.3'],
    ['from the start with TLS 1.2', false, 'TLSv1.2'],
    ['where it is offered, with TLS 1.3', true, 'TLSv1.3'],
    ['where it is offered, with TLS 1.2', true, 'TLSv1.2'],
  ] as const;

  test.each(TLS_WAYS)('mail is secured %s', async (_, isOffered, maxVersion) => {
    trustTestCa();
    await using server = await startSmtpServer({ ...RECEIVERS.valid, maxVersion }, isOffered);
    await createSmtpSender(server.url, 'post@signals.example.com', systemClock)(mail);
    expect(server.received).toHaveLength(1);
  });

  test.each(TLS_WAYS)('keys on a curve of the server are refused %s', async (_, isOffered, maxVersion) => {
    await using server = await startSmtpServer({ ...ownCurveCertificates(1), maxVersion }, isOffered);
    const send = createSmtpSender(server.url, 'post@signals.example.com', systemClock);
    await expect(send(mail)).rejects.toThrow('on a curve without a name');
    expect(server.received).toEqual([]);
  });

  test('a rejection and an unreachable server both count as failures', async () => {
    const server = await startSmtpServer();
    server.refuseWith('550 no such user');
    const send = createSmtpSender(server.url, 'post@signals.example.com', systemClock);
    await expect(send(mail)).rejects.toMatchObject({ responseCode: 550 });
    await server[Symbol.asyncDispose]();
    await expect(send(mail)).rejects.toMatchObject({ code: expect.any(String) });
  });

  test.each([
    ['smtp', createServer],
    ['smtps', (serve: (socket: Socket) => void) => createTlsServer(RECEIVERS.valid, serve)],
  ])(
    'a server (%s) that sends endless empty lines is left before they fill a turn',
    async (scheme, serve) => {
      trustTestCa();
      let bytes = 0;
      const server = serve((socket) => {
        const lines = Buffer.from('\r\n'.repeat(30_000));
        socket.on('error', () => {});
        const more = () => {
          if (!socket.destroyed) socket.write(lines, more);
          bytes = socket.bytesWritten;
        };
        more();
      }).listen(0, '127.0.0.1');
      onTestFinished(() => void server.close());
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const send = createSmtpSender(`${scheme}://127.0.0.1:${port}`, 'post@signals.example.com', systemClock);
      await expect(send(mail)).rejects.toThrow('The mail server sends too much.');
      expect(bytes).toBeLessThan(32 * 1024 * 1024);
    },
  );

  test('the lines of servers that send too many are read in turns of the event loop', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.write('\n'.repeat(200_000));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const send = createSmtpSender(`smtp://127.0.0.1:${port}`, 'post@signals.example.com', systemClock);
    const { longestMs } = await cpuOf(async () => {
      const sent = Array.from({ length: 8 }, () => send(mail));
      for (const one of sent) await expect(one).rejects.toThrow('The mail server sends too much.');
    });
    expect(longestMs).toBeLessThan(60);
  });
});

test('the signals of digests that are due together are read in turns of the event loop', async () => {
  const signalIds = ['sig_1', 'sig_2', 'sig_3'];
  const facts = {
    kind: 'digest',
    date: '2026-01-01',
    counts: { hot: 3, warm: 0 },
    signalIds,
    url: '',
  } as const;
  const tenants = ['ten_b', 'ten_c', 'ten_d'];
  for (const tenantId of tenants) {
    await store.createTenant(aTenant(tenantId));
    await store.addMail({
      id: `mal_${tenantId}`,
      tenantId,
      facts: { ...facts, signalIds },
      createdAt: clock.now(),
    });
  }
  const turns: number[] = [];
  store.getSignal = async () => {
    turns.push(workForATurn());
    return null;
  };
  await work();
  expect(sent).toHaveLength(3);
  expect(turns).toHaveLength(9);
  // The first of each, which mostly take a millisecond, are read in the same turn.
  expect(new Set(turns).size).toBeGreaterThanOrEqual(7);
});

test('a one-time link is mailed to its recipient and appears nowhere else', async () => {
  const userId = 'own_ten_a';
  const box = sealToken(BOX, userId, 'the-token');
  await add('mal_1', { kind: 'password_reset', userId, box });
  await add('mal_2', { kind: 'invitation', userId, tenant: 'Acme', role: 'reader', box });
  // Sealed for somebody else: it must not open, and is retried like any other failure.
  await add('mal_3', { kind: 'password_reset', userId, box: sealToken(BOX, 'own_other', 'the-token') });
  await work();
  expect(sent.map(({ to, text }) => [to, /https:\S+/.exec(text)?.[0]])).toEqual([
    ['ten_a@example.com', 'https://signals.example.com/dashboard/reset#token=the-token'],
    ['ten_a@example.com', 'https://signals.example.com/dashboard/setup#token=the-token'],
  ]);
  const mail = await store.listMail('ten_a', 10);
  expect(mail.filter(({ sentAt }) => sentAt === null).map(({ id }) => id)).toEqual(['mal_3']);
  const shown = mail.map(({ facts }) => mailText(facts, 'https://signals.example.com').text);
  expect(JSON.stringify([mail, shown, logged])).not.toContain('the-token');
});
