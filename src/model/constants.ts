// What the writer's thread needs of the model stands here, away from all schemas: to load zod took it 100 ms and 10 MiB.

/** The classes of a signal, the best first. */
export const CLASSIFICATIONS = ['hot', 'warm', 'cold'] as const;

/** Beyond so many, further places are not kept; the post stays one signal. */
export const MAX_ALSO_SEEN = 100;

/** Of a profile that says nothing else. */
export const DEFAULT_WEIGHTS = {
  intent: 40,
  topic: 25,
  urgency: 10,
  budget: 8,
  pain: 7,
  fit: 10,
};

/** Where every source begins. */
export const START_POSITION = {
  etag: null,
  lastModified: null,
  newestAt: null,
  seen: [] as string[],
  cursor: null,
};

/** The settings of a kind that has none. */
export const NO_SETTINGS = {
  url: null,
  query: null,
  site: null,
  tagged: null,
  board: null,
  tag: null,
  subreddit: null,
  client_id: null,
};

/** Events about deliveries themselves: none of them is sent to the endpoint that it is about. */
const OPERATIONAL_TYPES = [
  'endpoint.failing',
  'endpoint.paused',
  'endpoint.recovered',
  'delivery.dead',
] as const;
export type OperationalType = (typeof OPERATIONAL_TYPES)[number];

export function isOperational(type: string): type is OperationalType {
  return OPERATIONAL_TYPES.some((each) => each === type);
}

/** A deal is won or lost exactly where its lead is, and open in every other stage. */
export function dealStatusIn(stage: (typeof STAGES)[number]): 'open' | 'won' | 'lost' {
  return stage === 'won' || stage === 'lost' ? stage : 'open';
}

/** The platform of sample posts, which distinguishes them from real ones wherever they are shown. */
export const SAMPLE_PLATFORM = 'sample';

/** In the order of the board. `won` and `lost` are closed; `leads/move-lead.ts` has the allowed moves. */
export const STAGES = ['new', 'contacted', 'engaged', 'qualified', 'proposal', 'won', 'lost'] as const;

/** What an event's data is once the person that it was about is erased. */
export const ERASED_DATA = '{"erased":true}';

/** The events that MCP clients subscribe to (SEP-3415), and the scope that their key needs for each. */
export const MCP_EVENT_SCOPES = {
  'signal.detected': 'signals:read',
  'signal.new_hot': 'signals:read',
  'lead.created': 'leads:read',
  'pipeline.stage_changed': 'pipeline:read',
  'digest.ready': 'signals:read',
} as const;
