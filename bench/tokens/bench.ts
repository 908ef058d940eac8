import { estimateTokenCount } from 'tokenx';
import { aPost, buildTestApp } from '../../test/support/app.ts';
import { callTool, connectMcp } from '../../test/support/mcp.ts';
import type { Figure } from '../report.ts';

/** The budgets in tokens. */
const MOST = { list: 6_000, hot: 5_000 };
const SIGNALS = 30;

/** Tokens that agents read before their first call, and for this week's hot signals with reasons in two calls. The floor is the budget. */
export async function benchTokens(): Promise<Figure[]> {
  const { app, auth } = await buildTestApp();
  try {
    for (let n = 0; n < SIGNALS; n++) {
      const platform = {
        name: 'reddit',
        post_url: `https://www.reddit.com/r/smallbusiness/comments/1abc${n}/crm/`,
      };
      const text = `We are ${n + 5} people and looking for a new CRM, any recommendations? Budget approved, need to buy this month. ${'Our spreadsheet has grown out of hand and nobody knows who called whom. '.repeat(8)}`;
      const payload = aPost({ platform, text, company: { name: `Acme ${n}`, domain: `acme${n}.com` } });
      await app.inject({ method: 'POST', url: '/v1/signals', headers: auth, payload });
    }
    const client = await connectMcp(app, auth);
    const { tools } = await client.listTools();
    const args = { classification: 'hot', since: '7d' };
    const first = await callTool(client, 'search_signals', args);
    const second = await callTool(client, 'search_signals', { ...args, cursor: first.next_cursor });
    return [
      toFigure('tools/list', tokensOf(tools), MOST.list),
      toFigure('20 hot signals with why, two calls', tokensOf(first) + tokensOf(second), MOST.hot),
    ];
  } finally {
    await app.close();
  }
}

function tokensOf(value: unknown): number {
  return estimateTokenCount(JSON.stringify(value));
}

function toFigure(variant: string, ours: number, floor: number): Figure {
  return { bench: 'tokens', variant, ours, floor, ratio: ours / floor, unit: 'tokens' };
}
