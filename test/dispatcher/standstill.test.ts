import { expect, test } from 'vitest';
import { createStandstill } from '../../src/dispatcher/dispatcher.ts';
import { createManualClock } from '../support/manual-clock.ts';

function watched() {
  const clock = createManualClock();
  const now = { inLine: 0, done: 0 };
  const standstill = createStandstill({ clock, inLine: () => now.inLine, done: () => now.done });
  const look = () => {
    standstill.lookBegins();
    standstill.lookEnds();
    clock.advance(15_000);
  };
  return { clock, now, standstill, look };
}

test('a dispatcher without work is not stuck', () => {
  const { standstill, look } = watched();
  for (let i = 0; i < 10; i++) look();
  expect(standstill.reason()).toBeNull();
});

test('a dispatcher that makes progress is not stuck', () => {
  const { standstill, now, look } = watched();
  now.inLine = 5;
  for (let i = 0; i < 10; i++) {
    now.done++;
    look();
  }
  expect(standstill.reason()).toBeNull();
});

test('a dispatcher with work but no progress for a minute is stuck until it makes progress', () => {
  const { standstill, now, look } = watched();
  now.inLine = 5;
  for (let i = 0; i < 4; i++) look();
  expect(standstill.reason()).toBeNull();
  for (let i = 0; i < 2; i++) look();
  expect(standstill.reason()).toMatch(/none is sent/);
  now.done++;
  look();
  expect(standstill.reason()).toBeNull();
});

test('a dispatcher whose store does not list the work is stuck', () => {
  const { standstill, clock } = watched();
  standstill.lookBegins();
  clock.advance(60_000);
  expect(standstill.reason()).toBeNull();
  clock.advance(1);
  expect(standstill.reason()).toMatch(/does not respond/);
  standstill.lookEnds();
  expect(standstill.reason()).toBeNull();
});
