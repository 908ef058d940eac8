import { beforeAll, expect, test } from 'vitest';
import { toBodyBytes } from '../../../src/model/delivery.ts';
import { createSigner } from '../../../src/webhooks/signature.ts';
import { createHarness } from '../../dispatcher/harness.ts';
import { codeBlocks } from '../../support/code-blocks.ts';
import { startReceiver } from '../../support/receiver.ts';
import { type Case, isInstalled, LANGUAGES, runVerification, type Verdict } from './languages.ts';

/** A real delivery: sent by the dispatcher over a socket, and recorded as received. */
let real: Case;
beforeAll(async () => {
  const receiver = await startReceiver();
  const harness = await createHarness({ startAt: Date.now() });
  const { id, secret } = await harness.endpoint({ url: receiver.url });
  await harness.enqueue(id);
  await harness.dispatcher.start();
  await harness.committed(1);
  await harness.dispatcher.stop(1_000);
  await receiver.close();
  const [request] = receiver.requests;
  if (request === undefined) throw new Error('nothing came');
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  real = { headers: Object.fromEntries(headers), body: encode(request.body), secret };
});

const encode = (text: string) => Buffer.from(text).toString('base64');
const withHeaders = (headers: Record<string, string>) => ({
  ...real,
  headers: { ...real.headers, ...headers },
});

/** Signatures with the same secret for another time or body, as if sent `ageSeconds` ago. */
function signed(ageSeconds: number, body = '{"event":"x"}'): Case {
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds;
  const sealed = createSigner(real.secret).seal({ id: 'dlv_x', ...toBodyBytes(body) }, timestamp);
  return {
    headers: {
      'webhook-id': 'dlv_x',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': sealed.standardSignature,
      'x-service-signature': sealed.serviceSignature,
    },
    body: sealed.body.toString('base64'),
    secret: real.secret,
  };
}

const GENUINE: Verdict = { delivery: true, service: true };
const FORGED: Verdict = { delivery: false, service: false };
/** X-Service-Signature does not cover a delivery's age. */
const OLD: Verdict = { delivery: false, service: true };

/** The cases a receiver can encounter, with the expected results. */
const MEETINGS: [string, () => Case, Verdict][] = [
  ['a real delivery', () => real, GENUINE],
  ['a body beyond ASCII', () => signed(0, '{"name":"Zoë — 漢字 😀"}'), GENUINE],
  ['a delivery that is four minutes old', () => signed(240), GENUINE],
  [
    'the right signature after another',
    () => withHeaders({ 'webhook-signature': `v1,AAAA ${real.headers['webhook-signature']}` }),
    GENUINE,
  ],
  ['another body', () => ({ ...real, body: encode('{}') }), FORGED],
  [
    'another secret',
    () => ({ ...real, secret: `whsec_${encode('another secret of 32 bytes......')}` }),
    FORGED,
  ],
  ['no headers', () => ({ ...real, headers: {} }), FORGED],
  [
    'signatures of another length',
    () => withHeaders({ 'webhook-signature': 'v1,AAAA', 'x-service-signature': 'abc' }),
    FORGED,
  ],
  [
    'signatures beyond ASCII',
    () => withHeaders({ 'webhook-signature': 'v1,é', 'x-service-signature': 'é' }),
    FORGED,
  ],
  ['a delivery that is six minutes old', () => signed(360), OLD],
  ['a delivery from six minutes ahead', () => signed(-360), OLD],
  [
    'an old delivery with a fresh time written over',
    () => ({
      ...signed(360),
      headers: { ...signed(360).headers, 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) },
    }),
    OLD,
  ],
  ['a time that is no number', () => withHeaders({ 'webhook-timestamp': 'now' }), OLD],
  [
    'a time of another delivery',
    () => withHeaders({ 'webhook-timestamp': String(Number(real.headers['webhook-timestamp']) - 1) }),
    OLD,
  ],
  ['the id of another delivery', () => withHeaders({ 'webhook-id': 'dlv_other' }), OLD],
];

test.each(LANGUAGES.filter((language) => language.required || isInstalled(language)))(
  'the code for $name distinguishes genuine deliveries from forged or old ones',
  (language) => {
    const block = codeBlocks('developers/webhooks.md').find(({ name }) => name === language.file);
    if (block === undefined) throw new Error(`the guide has no ${language.file}`);
    const verdicts = runVerification(
      language,
      block.code,
      MEETINGS.map(([, make]) => make()),
    );
    const said = MEETINGS.map(([meeting], index) => [meeting, verdicts[index]]);
    expect(said).toEqual(MEETINGS.map(([meeting, , expected]) => [meeting, expected]));
  },
  // The first `go run` compiles the standard library.
  180_000,
);

test('the guide has code for every language, and no other', () => {
  const files = codeBlocks('developers/webhooks.md').flatMap(({ name }) => (name === '' ? [] : [name]));
  expect(files).toEqual(LANGUAGES.map(({ file }) => file));
});
