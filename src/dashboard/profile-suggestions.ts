import type { FastifyInstance } from 'fastify';
import { type IcpSuggestion, type Share, suggestionActionSchema } from '../model/icp-draft.ts';
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
  const of = (shown: typeof before) => `${shown.relevant} of ${shown.relevant + shown.not_relevant}`;
  return `Of the rated hot and warm signals, ${of(before)} are relevant now; with this change, ${of(after)}.`;
}

/** "83% precision, likely 61% to 94%"; null where none was rated. */
export function shareOf({ precision, interval }: Share): string | null {
  if (precision === null || interval === null) return null;
  const percent = (value: number) => Math.round(value * 100);
  return `${percent(precision)}% precision, likely ${percent(interval.low)}% to ${percent(interval.high)}%`;
}
