/** What operations of the signal API are grouped by, and what each is about; in the order of its document. */
export const API_TAGS = {
  Account: 'Who the key is and what it may do; this description.',
  Signals: 'Observed posts in, scored and explained signals out.',
  Leads: 'People, with what is known of them and where it came from.',
  Pipeline: 'Where each lead stands, how it got there, and the deal it may become.',
  Campaigns: 'Outreach, what came back, and its statistics.',
  Companies: 'What is known of a company, and the signals it sent.',
  Profiles: 'Ideal Customer Profiles: what signals are matched with.',
  Sources: 'Where posts are detected.',
  Webhooks: 'Endpoints that events are delivered to, signed.',
  Deliveries: 'What was sent, what came back, and what could not be delivered.',
  Events: 'Everything that happened, and who was told.',
  Keys: 'API keys, their scopes and limits.',
} as const;
/** The name of a tag. */
export type TagName = keyof typeof API_TAGS;
/** The names of all tags. */
export const TAG_NAMES = Object.keys(API_TAGS) as [TagName, ...TagName[]];
