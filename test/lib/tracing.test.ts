import { expect, test } from 'vitest';
import { formatTraceparent, parseTraceparent } from '../../src/lib/tracing.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

test('a traceparent is parsed and formatted according to W3C Trace Context', () => {
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ traceId: TRACE, spanId: SPAN, flags: 1 });
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-02`)?.flags).toBe(0);
  // A later version may have additional parts; the known ones are parsed (section 3.2.2).
  expect(parseTraceparent(`cc-${TRACE}-${SPAN}-01-more`)?.traceId).toBe(TRACE);
  expect(formatTraceparent(TRACE, SPAN, 1)).toBe(`00-${TRACE}-${SPAN}-01`);
});

test.each([
  ['nothing', undefined],
  ['a version that is forbidden', `ff-${TRACE}-${SPAN}-01`],
  ['version 00 with more', `00-${TRACE}-${SPAN}-01-more`],
  ['capital letters', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['two of them', [`00-${TRACE}-${SPAN}-01`]],
])('%s is invalid', (_, text) => expect(parseTraceparent(text)).toBeNull());
