import type { WeightKey } from '../../model/icp.ts';
import { MODEL } from './learnt.ts';

/** The named parts of a score. Parts that a profile weighs carry its weight's name. */
export type GroupKey =
  | WeightKey
  | 'offer'
  | 'learned'
  | 'circumstances'
  | 'form'
  | 'meaning'
  | 'trigger'
  | 'seller'
  | 'job'
  | 'private'
  | 'decided'
  | 'talk';

/** What a part is called where it speaks for a purchase, and where against. */
export const GROUP_LABELS: Readonly<Record<GroupKey, { adds: string; takes: string }>> = {
  intent: { adds: 'Asks for something to buy', takes: 'Not asking to buy anything' },
  topic: { adds: 'On your topic', takes: 'Only loosely on your topic' },
  offer: { adds: 'Wants what you offer', takes: 'Wants something else' },
  learned: {
    adds: 'Like signals you marked relevant',
    takes: 'Like signals you marked not relevant',
  },
  urgency: { adds: 'Mentions a deadline', takes: 'Mentions dates, but no deadline' },
  budget: { adds: 'Mentions a budget', takes: 'Mentions cost, not budget' },
  pain: { adds: 'Describes a problem', takes: 'Complains without asking' },
  fit: { adds: 'Fits your audience', takes: 'Outside your audience' },
  circumstances: { adds: 'Writes on behalf of a business', takes: 'Not about a business need' },
  form: { adds: 'Phrased as a request', takes: 'Not phrased as a request' },
  meaning: { adds: 'Sounds like a buyer', takes: 'Does not sound like a buyer' },
  trigger: { adds: 'Buying trigger', takes: 'News, not a request' },
  seller: { adds: 'Not promoting anything', takes: 'Promotes its own product' },
  job: { adds: 'Looks for an outside supplier', takes: 'About a job, not a purchase' },
  private: { adds: 'For business use', takes: 'For private use' },
  decided: { adds: 'Still undecided', takes: 'Already decided' },
  talk: { adds: 'More than general discussion', takes: 'General discussion' },
};

const BY_NAME: readonly (readonly [RegExp, GroupKey])[] = [
  [/\.done$/, 'decided'],
  [/^(?:topical|topic_and\.only_title)$/, 'form'],
  [/^topic/, 'topic'],
  [/^(?:fit|misfit)$/, 'fit'],
  [/^(?:thing_and\.)?(?:date)(?:\.title)?$/, 'urgency'],
  [/^(?:thing_and\.)?(?:money|budget|willing_to_pay|how_much)(?:\.|$)/, 'budget'],
  [/^(?:thing_and\.)?(?:pain|price_pain|bad_review|outrage|vendor|vendor_and_complaint)(?:\.|$)/, 'pain'],
  [/^(?:round|funding|appointment|growth|board_only|news|thing_and\.news)(?:\.|$)/, 'trigger'],
  [
    /^(?:thing_and\.)?(?:maker|seller|links|feedback_wanted|good_review|review_form)(?:\.|$)|^pitch$/,
    'seller',
  ],
  [
    /^(?:thing_and\.)?(?:job_seeker|job_ad|full_time_job|thread|job)(?:\.|$)|\.job$|^(?:contract_work|gig_title)/,
    'job',
  ],
  [/^(?:thing_and\.)?(?:private_money|home|student)(?:\.|$)|\.home$/, 'private'],
  [/^(?:thing_and\.)?already_bought(?:\.|$)|^settled_after$/, 'decided'],
  [
    /^(?:thing_and\.)?(?:survey|how_to|programming|story|opinion|hearsay|legal|learning|audience|politeness)(?:\.|$)|\.(?:learning|audience)$/,
    'talk',
  ],
  [/^(?:thing_and\.)?(?:business|current_tool|team_size|requirements)(?:\.|$)/, 'circumstances'],
  [
    /^(?:long|short|only_title|first_person(?:\.told)?|first_plural(?:\.told)?|second_person(?:\.told)?|german|ask_hn|ends_with_question|title_question|question_marks|topical|thing_and\.only_title)$/,
    'form',
  ],
];

/** Of all features that the model weighs: to ask every pattern for each of a post's was a tenth of its planning. */
const GROUPS: ReadonlyMap<string, GroupKey> = new Map(
  [MODEL.words, MODEL.encoder]
    .flatMap(({ hot, warm }) => [hot, warm])
    .flatMap(({ weights }) => Object.keys(weights))
    .map((feature) => [feature, groupByName(feature)]),
);

/** The part to which a feature's points go. */
export function groupOf(feature: string): GroupKey {
  return GROUPS.get(feature) ?? groupByName(feature);
}

function groupByName(feature: string): GroupKey {
  return BY_NAME.find(([pattern]) => pattern.test(feature))?.[1] ?? 'intent';
}
