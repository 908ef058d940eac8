import type { PresetFormat } from '../../model/payload-shape.ts';
import { discordMessage } from './discord.ts';
import type { Notice } from './notice.ts';
import { ntfyMessage } from './ntfy.ts';
import { slackMessage } from './slack.ts';
import { teamsMessage } from './teams.ts';

/** The body of a notice for a service, without its `signature` member, which all of them pass over. */
export function presetBody(format: PresetFormat, notice: Notice): string {
  return JSON.stringify(message(format, notice));
}

function message({ preset, topic = '' }: PresetFormat, notice: Notice): object {
  switch (preset) {
    case 'slack':
      return slackMessage(notice);
    case 'discord':
      return discordMessage(notice);
    case 'teams':
      return teamsMessage(notice);
    case 'ntfy':
      return ntfyMessage(notice, topic);
  }
}
