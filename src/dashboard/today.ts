import type { FastifyInstance } from 'fastify';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

/** `/dashboard`: what needs a person today. */
export function addToday(app: FastifyInstance, _parts: DashboardParts, show: Show): void {
  app.get('/', (request, reply) => show(request, reply, { template: 'today', title: 'Today' }));
}
