import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { accentFault, accentStyles, contrast, DEFAULT_ACCENT } from '../../../src/site/content/identity.ts';

const TOKENS = ['src/http/styles/palette.css', 'src/site/content/styles/tokens.css'].map((file) =>
  readFileSync(file, 'utf8'),
);

/** The custom properties of the light and the dark scheme; the dark one inherits what it does not override. */
function schemes(accent: string): Record<string, string>[] {
  const [light, dark] = [...TOKENS, accentStyles(accent)].reduce(
    ([lightSoFar, darkSoFar], css) => {
      const [first = '', second = ''] = css.split('@media');
      return [lightSoFar + first, darkSoFar + second];
    },
    ['', ''],
  );
  const read = (css: string) =>
    Object.fromEntries(
      [...css.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]),
    );
  return [read(light), { ...read(light), ...read(dark) }];
}

const anyColour = fc
  .integer({ min: 0, max: 0xffffff })
  .map((number) => `#${number.toString(16).padStart(6, '0')}`);

test('contrast is calculated as in WCAG', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
  expect(contrast('#9a4708', '#9a4708')).toBe(1);
});

test('text in any accepted accent is readable on every background of both schemes', () => {
  expect(accentFault(DEFAULT_ACCENT)).toBeNull();
  fc.assert(
    fc.property(anyColour, (wanted) => {
      const accent =
        accentFault(wanted) === null
          ? wanted
          : /(#[0-9a-f]{6}) is the same/.exec(accentFault(wanted) ?? '')?.[1];
      expect(accentFault(accent ?? '')).toBeNull();
      for (const scheme of schemes(accent ?? '')) {
        const ratio = (ink: string, ground: string) => contrast(scheme[ink] ?? '', scheme[ground] ?? '');
        for (const ground of ['ground', 'raised', 'sunken'])
          expect(ratio('accent', ground)).toBeGreaterThanOrEqual(4.5);
        expect(ratio('on-accent', 'accent')).toBeGreaterThanOrEqual(4.5);
        expect(ratio('on-accent', 'accent-hover')).toBeGreaterThanOrEqual(4.5);
        expect(ratio('on-deep-link', 'deep')).toBeGreaterThanOrEqual(4.5);
        expect(ratio('accent-mark', 'ground')).toBeGreaterThanOrEqual(3);
      }
    }),
    { numRuns: 300 },
  );
});

test('a pale accent is refused with its contrast and a sufficient one of the same hue', () => {
  expect(accentFault('#ffcc00')).toBe(
    "#ffcc00 has a contrast of only 1.3 : 1 with the site's light ground; links and buttons need 4.5 : 1. #856a00 is the same colour, dark enough.",
  );
});
