import type { FastifyInstance } from 'fastify';
import type { IcpSuggestion, Share } from '../model/icp-quality.ts';
import { suggestionActionSchema } from '../model/icp-quality.ts';
import { decideSuggestion } from '../signals/suggestions.ts';
import { formOf, text } from './forms.ts';
import { memberOf } from './gate.ts';
import { checked } from './members.ts';
import type { DashboardParts } from './parts.ts';

const DONE = { accept: 'accepted', dismiss: 'dismissed', undo: 'undone' } as const;

/** What is decided of the changes that feedback suggests, on a profile's screen. */
export function addProfileSuggestions(app: FastifyInstance, parts: DashboardParts): void {
  app.post<{ Params: { id: string; suggestion: string } }>(
    '/profiles/:id/suggestions/:suggestion',
    async (request, reply) => {
      const { id: profileId, suggestion: id } = request.params;
      const { action } = checked(suggestionActionSchema, { action: text(formOf(request), 'action') });
      await decideSuggestion(parts, memberOf(request).tenant, { profileId, id, action });
      return reply.redirect(`/dashboard/profiles/${profileId}?done=${DONE[action]}#suggestions`, 303);
    },
  );
}

/** What a suggestion would have done to the signals judged so far, in words. */
export function effectOf({ effect: { shown_before: before, shown_after: after } }: IcpSuggestion): string {
  const of = (count: number, what: string) => `${count} ${what}`;
  return [
    `Of the judged signals that are warm or hot, ${of(before.relevant, 'relevant')} and ${of(before.not_relevant, 'not')} now;`,
    `${of(after.relevant, 'relevant')} and ${of(after.not_relevant, 'not')} with it.`,
  ].join(' ');
}

/** "83 % right, likely 61 to 94 %"; null where none was judged. */
export function shareOf({ precision, interval }: Share): string | null {
  if (precision === null || interval === null) return null;
  const percent = (value: number) => Math.round(value * 100);
  return `${percent(precision)} % right, likely ${percent(interval.low)} to ${percent(interval.high)} %`;
}
