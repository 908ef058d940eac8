import { expect, test } from 'vitest';
import { createRefuseWeak } from '../../src/accounts/passwords.ts';
import { cpuMsOf } from '../support/cpu-time.ts';

const OWNER = { email: 'rita.marlowe@harbour-tools.example', firm: 'Harbour & Sons Tools Ltd' };
const refuseWeak = createRefuseWeak();

/** Why a password is rejected; empty when it is accepted. */
function faultOf(password: string): string {
  try {
    refuseWeak(password, OWNER);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

test.each([
  ...[
    '1234567890',
    'qwertyuiop',
    'Qwertyuiop',
    'letmein123',
    'password12',
    'Password2026!',
    '!!password!!',
    'P@ssw0rd123',
  ],
  ...[
    'basketball',
    'iloveyou!!!!',
    'monkeymonkey',
    'dragondragondragon',
    '1q2w3e4r5t',
    '123qweasdzxc',
    'Welcome2026',
    'ｐａｓｓｗｏｒｄ１２',
  ],
])('%s is one of the most common passwords, or close to one', (password) => {
  expect(faultOf(password)).toMatch(/most common|too easy/);
});

test.each([
  ...['abcdabcdab', 'aaaaaaaaaa', '0123456789', '9876543210', 'abcdefghijklm', 'aaaabbbbcccc', '1212121212'],
])('%s can be guessed by counting up', (password) => {
  expect(faultOf(password)).toMatch(/most common|too easy/);
});

test.each([
  ...['Signalpost1', 'signalpost2026', 'rita.marlowe@harbour-tools.example', 'ritamarlowe', 'Marlowe2026'],
  ...[
    'harbour-tools',
    'HarbourTools1',
    'harboursonstoolsltd',
    'tools@harbour',
    'Harbour!!!!!!!!!!',
    'Rita.Marlowe1',
  ],
])("%s is the person's address or the company's name", (password) => {
  expect(faultOf(password)).toContain('your email address or company name');
});

test.each([
  ...[
    'correct horse battery',
    'a password of the first',
    'harbour lights at dusk',
    'x7#kQ2!vR9',
    'tvkz qmwo',
    'ein langes wort mehr',
  ],
  ...[
    '我喜欢吃苹果和香蕉',
    '\u{1f600}\u{1f680}\u{1f355}\u{1f40d}\u{1f3b8}\u{26f5}\u{1f341}\u{1f9ca}\u{1f52d}\u{1f9e9}',
  ],
])('%s is accepted if it is long enough', (password) => {
  expect(faultOf(password)).toBe(
    [...password].length < 10 ? 'Choose a password of at least 10 characters.' : '',
  );
});

test('the longest and oddest passwords are rejected quickly', () => {
  const odd = [
    'a'.repeat(200),
    'ab'.repeat(100),
    `${'a'.repeat(199)}b`,
    '\n'.repeat(200),
    '\u0300'.repeat(200),
    '1a'.repeat(100),
  ];
  const ms = cpuMsOf(() => {
    for (const password of odd) faultOf(password);
  });
  expect(ms).toBeLessThan(500);
});
