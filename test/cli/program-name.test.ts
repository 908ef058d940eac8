import { expect, test } from 'vitest';
import { programName } from '../../src/cli/ports.ts';

test.each([
  ['/repo/src/main.ts', {}, 'npm run --silent signalpost --'],
  ['/app/dist/main.js', {}, 'node /app/dist/main.js'],
  ['/my app/dist/main.js', {}, "node '/my app/dist/main.js'"],
  ['/usr/local/bin/signalpost', { PATH: '/bin:/usr/local/bin' }, 'signalpost'],
  ['/x/node_modules/.bin/signalpost', { PATH: '/bin' }, '/x/node_modules/.bin/signalpost'],
  [
    '/c/_npx/1/node_modules/.bin/signalpost',
    { PATH: '/c/_npx/1/node_modules/.bin', npm_command: 'exec' },
    '/c/_npx/1/node_modules/.bin/signalpost',
  ],
])('a program at %s is referred to by a command that works in a shell', (path, env, expected) => {
  expect(programName(path, env)).toBe(expected);
});
