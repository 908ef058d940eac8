/** The tags of the signal API's operations, in the order of its OpenAPI document. */
export const API_TAGS = {
  Account: 'The account and permissions of a key, settings, and the description of this API.',
  Signals: 'Create signals from posts; list and read them.',
  Leads: 'People in the pipeline, the known facts about them and where they came from.',
  Pipeline: 'Stages, stage history and deals of leads.',
  Campaigns: 'Outreach campaigns, their events and statistics.',
  Companies: 'Companies, the known facts about them and their signals.',
  Profiles: 'Ideal Customer Profiles, which posts are matched with.',
  Sources: 'Feeds and sites that posts are read from.',
  Webhooks: 'Endpoints that events are delivered to, with signatures.',
  Deliveries: 'Log of deliveries, dead-letter queue and replays.',
  Events: 'Events and their delivery to each endpoint.',
  Keys: 'API keys, their scopes and rate limits.',
} as const;
/** The name of a tag. */
export type TagName = keyof typeof API_TAGS;
/** The names of all tags. */
export const TAG_NAMES = Object.keys(API_TAGS) as [TagName, ...TagName[]];
