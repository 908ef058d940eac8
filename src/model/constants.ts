// The parts of the model that the store's writer thread needs, without schemas: loading zod would take the
// thread 100 ms and 10 MiB.

/** Classes of signals, best first. */
export const CLASSIFICATIONS = ['hot', 'warm', 'cold'] as const;

/** Maximum number of further places stored for a signal; the post remains one signal beyond that. */
export const MAX_ALSO_SEEN = 100;
/**
 * Further places are not added to a signal whose JSON is longer: a hundred with the longest addresses made 208 KB, and five hundred such
 * signals, of one author, 100 MB to read and write for one lead.
 */
export const MAX_WIRE_WITH_PLACES = 15_000;

/** Weights of a profile unless it sets its own. */
export const DEFAULT_WEIGHTS = {
  intent: 40,
  topic: 25,
  urgency: 10,
  budget: 8,
  pain: 7,
  fit: 10,
};

/** The position of a source that was never read. */
export const START_POSITION = {
  etag: null,
  lastModified: null,
  newestAt: null,
  seen: [] as string[],
  cursor: null,
};

/** The settings of a kind without settings. */
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

/** Events about deliveries themselves, which are not sent to the endpoint that they are about. */
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

/** A deal is won or lost exactly if its lead is, and open in every other stage. */
export function dealStatusIn(stage: (typeof STAGES)[number]): 'open' | 'won' | 'lost' {
  return stage === 'won' || stage === 'lost' ? stage : 'open';
}

/** The platform of sample posts, which distinguishes them from real posts everywhere. */
export const SAMPLE_PLATFORM = 'sample';

/** In the order of the board. `won` and `lost` are closed; `leads/move-lead.ts` lists the allowed moves. */
export const STAGES = ['new', 'contacted', 'engaged', 'qualified', 'proposal', 'won', 'lost'] as const;

/** The data of an event after the person it was about was erased. */
export const ERASED_DATA = '{"erased":true}';

/** The events that MCP clients can subscribe to (SEP-3415), each with the scope that the key needs. */
export const MCP_EVENT_SCOPES = {
  'signal.detected': 'signals:read',
  'signal.new_hot': 'signals:read',
  'lead.created': 'leads:read',
  'pipeline.stage_changed': 'pipeline:read',
  'digest.ready': 'signals:read',
} as const;

/** The attempts of a delivery that are shown. It can be replayed any number of times, and each attempt may have 20 KB of headers and response. */
export const MOST_ATTEMPTS = 50;

/** Maximum number of outcomes listed for an event, about 100 KB. An event with 96,000 took 0.4 s and 12 MB. */
export const MOST_OUTCOMES = 1_000;

/** Maximum number of decided suggestions that a profile lists: the newest ones. Forty thousand took 0.4 s. */
export const MOST_DECISIONS = 2_000;
