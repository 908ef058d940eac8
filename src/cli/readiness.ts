import type { Ports } from './ports.ts';
import { apiError, askServer } from './public-call.ts';

/**
 * What `/ready` answers where the server does its work. The token that the server asks for, if any, is in the same
 * variable here.
 * @throws CommandError with the checks where it does not
 */
export async function askReadiness(ports: Ports, baseUrl: string | undefined): Promise<string> {
  const token = ports.env.ADMIN_METRICS_TOKEN?.trim();
  const answer = await askServer(ports, { baseUrl, path: '/ready', accept: 'application/json', token });
  if (answer.status !== 200) throw apiError(answer);
  return answer.text.trimEnd();
}
