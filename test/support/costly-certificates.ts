import { generateKeyPairSync, randomBytes } from 'node:crypto';

const RSA_BYTES = 384;
const RSA_KEY = sequence(oid('2a864886f70d010101'), tlv(0x05));
const RSA_WITH_SHA256 = sequence(oid('2a864886f70d01010b'), tlv(0x05));
const VALIDITY = sequence(tlv(0x17, Buffer.from('250101000000Z')), tlv(0x17, Buffer.from('491231235959Z')));
const IS_AUTHORITY = sequence(oid('551d13'), tlv(0x04, sequence(tlv(0x01, Buffer.from([0xff])))));

/**
 * A key and a chain of certificates that no authority signed, above it `authorities` of RSA keys with exponents of
 * 3,072 bits, the most that OpenSSL accepts. Checking each signature takes milliseconds.
 */
export function costlyCertificates(authorities: number): { key: string; cert: string } {
  return chainWith(authorities, () =>
    sequence(RSA_KEY, bits(sequence(integer(oddNumber(0xff)), integer(oddNumber(0x7f))))),
  );
}

/**
 * The same with keys on a curve of its own, of 660 bits, whose points are given by one coordinate. Reading each key takes
 * 140 ms, without checking anything: the field's size is such that its square roots take as long as possible.
 */
export function ownCurveCertificates(authorities: number): { key: string; cert: string } {
  return chainWith(authorities, ownCurveKey);
}

function chainWith(authorities: number, keyOf: () => Buffer): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const chain = [certificate(0, publicKey.export({ type: 'spki', format: 'der' }))];
  for (let n = 1; n <= authorities; n++) chain.push(certificate(n, keyOf()));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: chain.map((one) => pem('CERTIFICATE', one)).join(''),
  };
}

function ownCurveKey(): Buffer {
  const size = 2_451n * 2n ** 648n + 1n; // a prime
  const bytes = (number: bigint) => Buffer.from(number.toString(16).padStart(166, '0'), 'hex');
  const point = Buffer.concat([Buffer.from([2]), bytes(2n)]);
  const curve = sequence(
    ...[integer(Buffer.from([1])), sequence(oid('2a8648ce3d0101'), integer(bytes(size)))],
    sequence(tlv(0x04, bytes(size - 3n)), tlv(0x04, bytes(5n))),
    ...[tlv(0x04, point), integer(bytes(size - 2n)), integer(Buffer.from([1]))],
  );
  return sequence(sequence(oid('2a8648ce3d0201'), curve), bits(point));
}

/** Parameters of a Diffie-Hellman exchange of the most bits that OpenSSL accepts, in PEM. */
export function costlyParameters(): string {
  return pem('DH PARAMETERS', sequence(integer(oddNumber(0xff, 1_249)), integer(Buffer.from([2]))));
}

function certificate(n: number, key: Buffer): Buffer {
  const body = sequence(
    ...[tlv(0xa0, integer(Buffer.from([2]))), integer(oddNumber(0x11, 8)), RSA_WITH_SHA256],
    ...[named(`authority ${n + 1}`), VALIDITY, named(`authority ${n}`), key],
    tlv(0xa3, sequence(IS_AUTHORITY)),
  );
  return sequence(body, RSA_WITH_SHA256, bits(oddNumber(0x70)));
}

function oddNumber(first: number, bytes = RSA_BYTES): Buffer {
  const number = randomBytes(bytes);
  number[0] = first;
  number[bytes - 1] = (number[bytes - 1] ?? 0) | 1;
  return number;
}

function tlv(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return tlv(0x30, ...parts);
}

function oid(hex: string): Buffer {
  return tlv(0x06, Buffer.from(hex, 'hex'));
}

function bits(content: Buffer): Buffer {
  return tlv(0x03, Buffer.from([0]), content);
}

function integer(bytes: Buffer): Buffer {
  return tlv(0x02, (bytes[0] ?? 0) < 0x80 ? bytes : Buffer.concat([Buffer.from([0]), bytes]));
}

function named(text: string): Buffer {
  return sequence(tlv(0x31, sequence(oid('550403'), tlv(0x0c, Buffer.from(text)))));
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
