import fc from 'fast-check';
import { expect, test } from 'vitest';
import { htmlToText } from '../../src/detection/html-text.ts';

test.each([
  ['<p>One</p><p>Two<br>Three</p>', 'One\n\nTwo\nThree'],
  ['a < b &amp;&amp; <b>c</b> > d', 'a < b && c > d'],
  ['&copy; &hearts; &#39;x&#x27; &nbsp;y &unknown; &', "© ♥ 'x' y &unknown; &"],
  ['&amp;lt;b&amp;gt;', '&lt;b&gt;'],
  ['<img alt="a > b" src=x>after', 'after'],
  ['x<script>alert("</p>")</script>y<style>p{}</style>z', 'xyz'],
  ['x<!-- <p>no</p> -->y<![CDATA[z]]>', 'xy'],
  ['<script>never closed', ''],
  ['an <unclosed tag', 'an <unclosed tag'],
  ['bell\u0007 and\ttab', 'bell and tab'],
])('%j becomes %j', (html, text) => {
  expect(htmlToText(html)).toBe(text);
});

test('turns any input into text without tags or control characters that is no longer than the input', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (inner) => {
      const text = htmlToText(`<p>${inner.replaceAll('&', '')}</p><em title="x">y</em>`);
      expect(text).not.toMatch(/<em|<\/p>|[^\P{Cc}\n]/u);
      expect(text.length).toBeLessThanOrEqual(inner.length + '<p></p><em title="x">y</em>'.length);
    }),
  );
});

test.each(['<', '<a ', '<a href="', '<script>', '<!--', '&', '</', '<p>'])(
  'a hundred thousand of %j are converted in linear time',
  (part) => {
    const started = performance.now();
    htmlToText(part.repeat(100_000));
    expect(performance.now() - started).toBeLessThan(3_000);
  },
);
