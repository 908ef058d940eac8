import type { FastifyInstance } from 'fastify';
import { sendText } from '../http/problems.ts';

/** `GET /`: names the service and where to look next. */
export function addHome(app: FastifyInstance, { baseUrl }: { baseUrl: string }): void {
  const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Signalpost</title>
<h1>Signalpost</h1>
<p>${new URL(baseUrl).hostname.replaceAll('&', '&amp;').replaceAll('<', '&lt;')} is up: see <a href="/api/health">/api/health</a>.</p>
</html>
`;
  app.get('/', (_request, reply) => {
    reply.header('content-security-policy', "default-src 'none'; base-uri 'none'; frame-ancestors 'none'");
    sendText(reply, 'text/html; charset=utf-8', page);
  });
}
