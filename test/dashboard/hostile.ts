import { expect } from 'vitest';
import type { TestApp } from '../support/app.ts';

/** What a stranger may write into any field: scripts, ends of attributes and elements, and templates. */
export const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(1)><%= 7 * 7 %>\`\${1}</textarea></title>`;

/** Fails if any part of {@link HOSTILE} is markup on the page, or is missing from it. */
export function isHarmless(html: string): void {
  expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
  expect(html).not.toMatch(/<img src=x|<script>alert|"'><script|<\/textarea><\/title>|\b49`/);
}

/** Stores an observed post; returns the ID of its signal. */
export async function postSignal(
  { app, auth }: Pick<TestApp, 'app' | 'auth'>,
  post: Record<string, unknown>,
): Promise<string> {
  const payload = { platform: { name: 'reddit' }, ...post };
  const answer = await app.inject({ method: 'POST', url: '/v1/signals', headers: auth, payload });
  if (answer.statusCode >= 300) throw new Error(answer.body);
  return answer.json().data.signals[0].signal_id;
}
