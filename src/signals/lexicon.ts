import type { WeightKey } from '../model/icp.ts';

/**
 * What people write when they are about to buy, and what they write when only the words match. Each entry is a
 * case-insensitive pattern without nested repetition, so that matching stays linear in the text.
 */
export interface Cue {
  pattern: RegExp;
  points: number;
}

/** Cues that speak for one factor; the best counts, and a second kind of cue of the same factor adds nothing. */
export interface CueGroup<K extends string = string> {
  key: K;
  label: string;
  max: number;
  cues: readonly Cue[];
}

/** Without the flag `u`, which no cue needs and which costs a third; without `g`, so that `exec` keeps no state. */
const cue = (points: number, source: string): Cue => ({ points, pattern: new RegExp(source, 'i') });

export const POSITIVE_GROUPS: readonly CueGroup<Exclude<WeightKey, 'topic' | 'fit'>>[] = [
  {
    key: 'intent',
    label: 'Asks for something to buy',
    max: 40,
    cues: [
      cue(
        40,
        '\\b(?:looking|searching|shopping|in the market) (?:for|to (?:buy|hire|replace|switch|outsource))\\b',
      ),
      cue(
        40,
        '\\b(?:need|want) (?:to (?:hire|buy|replace|switch|find|migrate)|someone|a new|an? alternative|help choosing)\\b',
      ),
      cue(40, '\\b(?:recommend(?:ations?)?|suggestions?) (?:for|on|an?|any|me|us|please|welcome)\\b'),
      cue(
        40,
        '\\b(?:any ?one|any ?body|who|what|which) (?:can |would |do |does |should )?(?:you |we |i )?(?:recommend|suggest)\\b',
      ),
      cue(40, '\\b(?:any|best|good|cheaper|better) alternatives? (?:to|for)\\b|\\balternatives? to\\b'),
      cue(40, '\\b(?:request for (?:proposals?|quotes?)|RFP|RFQ|tender|taking bids|getting quotes)\\b'),
      cue(
        40,
        '\\b(?:evaluating|comparing|shortlist(?:ed|ing)?|trialling|switching (?:from|to|away)|replacing our|replace our)\\b',
      ),
      cue(38, '\\b(?:we|i|my (?:boss|team|company)) (?:really |urgently |also )?needs? an?\\b'),
      cue(
        30,
        '\\b(?:what|which) (?:\\w+ ){0,4}(?:do|are|should) (?:you|people|others|we|i) (?:all |guys )?(?:use|using|buy|choose|pick)\\b',
      ),
      cue(30, '\\b(?:does|has|is) any ?(?:one|body) (?:know|use|used|using|tried|have|had|here)\\b'),
      cue(
        40,
        '\\b(?:quotes?|recommendations?|suggestions?|proposals?|bids|alternatives?) (?:wanted|needed|welcome)\\b',
      ),
      cue(
        40,
        '\\b(?:buying|purchas(?:e|ing)) (?:this|next|before|by|is planned)\\b|\\bsaid buy something\\b',
      ),
      cue(
        40,
        '\\b(?:must|have to|need to|got to|until|going to|will) (?:choose|pick|decide on|select|make a call)\\b',
      ),
      cue(
        40,
        '\\bchoos(?:e|ing) (?:an?|one|between|a single) \\b|\\bchoose a (?:vendor|partner|platform|web)',
      ),
      cue(35, "\\b(?:we are|i am|i'm|we're)? ?(?:moving off|moving from|leaving|cancelled|want out of)\\b"),
      cue(35, '\\b(?:i|we) (?:want|need) (?:my|our|to see|checks|online|pipeline|projects)\\b'),
      cue(30, '\\b\\w+ (?:vs\\.?|versus) \\w+\\b|\\bor something (?:cheaper|simpler|better)\\b'),
      cue(
        25,
        '\\b(?:thinking (?:about|of) (?:switching|buying|hiring|moving|getting)|considering|worth (?:it|paying|the money))\\b',
      ),
      cue(
        20,
        '\\b(?:how (?:do|can|should) (?:you|we|i)|what is the best way|any (?:advice|tips|ideas|experience))\\b',
      ),
    ],
  },
  {
    key: 'urgency',
    label: 'Has a date',
    max: 10,
    cues: [
      cue(10, '\\b(?:asap|urgent(?:ly)?|immediately|right away|right now|deadline)\\b'),
      cue(
        10,
        '\\b(?:today|tomorrow|this (?:week|month|quarter)|next (?:week|month|quarter)|end of (?:the )?(?:week|month|quarter|year))\\b',
      ),
      cue(
        10,
        '\\b(?:by|before) (?:the end of|monday|tuesday|wednesday|thursday|friday|next|january|february|march|april|may|june|july|august|september|october|november|december|q[1-4])\\b',
      ),
      cue(10, '\\b(?:renewal|contract|licen[cs]e) (?:is (?:up|due)|ends|expires|runs out)\\b'),
    ],
  },
  {
    key: 'budget',
    label: 'Speaks of money to spend',
    max: 8,
    cues: [
      cue(
        8,
        '\\b(?:budget|willing to pay|ready to (?:buy|pay|sign)|happy to pay|approved (?:spend|funding))\\b',
      ),
      cue(8, '(?:[$€£]\\s?\\d|\\b\\d+(?:[.,]\\d+)*\\s?k?\\s?(?:usd|eur|gbp|dollars|euros|pounds)\\b)'),
      cue(
        6,
        '\\b(?:pricing|quote|per[- ](?:seat|user|month)|price range|how much (?:does|do|would|should))\\b',
      ),
    ],
  },
  {
    key: 'pain',
    label: 'Describes a pain',
    max: 7,
    cues: [
      cue(
        7,
        '\\b(?:too expensive|overpriced|price (?:hike|increase)|outgrown|outgrew|falling through|keeps? (?:crashing|failing|breaking))\\b',
      ),
      cue(
        7,
        '\\b(?:frustrat(?:ed|ing)|fed up|sick of|tired of|struggling|nightmare|driving (?:us|me) (?:mad|crazy|nuts))\\b',
      ),
      cue(
        6,
        "\\b(?:does ?n[o\u2019']t (?:work|scale)|unreliable|slow|painful|clunky|a mess|wast(?:e|ing) (?:of )?(?:time|hours|money)|hate)\\b",
      ),
    ],
  },
];

export const NEGATIVE_GROUPS: readonly CueGroup[] = [
  {
    key: 'job_seeker',
    label: 'Looks for work, not for a supplier',
    max: 70,
    cues: [
      cue(
        70,
        '\\[for hire\\]|\\b(?:for hire|open to work|my (?:resume|cv|portfolio)|(?:resume|cv) review)\\b',
      ),
      cue(
        70,
        '\\b(?:looking|searching|applying) for (?:an? )?(?:\\w+ ){0,2}(?:job|jobs|work|internship|position|role|roles|gig)\\b',
      ),
      cue(70, '\\b(?:hire me|available for (?:work|hire|freelance)|seeking employment|laid off)\\b'),
    ],
  },
  {
    key: 'self_promotion',
    label: 'Sells something of its own',
    max: 70,
    cues: [
      cue(
        70,
        '\\b(?:show hn|launch hn|book a (?:demo|call)|dm me for|link in (?:bio|comments)|affiliate|promo code|use code)\\b',
      ),
      cue(
        70,
        "\\b(?:i|we)(?: have|\u2019ve|'ve)? (?:just )?(?:built|launched|released|made|created|wrote) (?:an?|our|my|the|this)\\b",
      ),
      cue(
        70,
        '\\b(?:check out (?:my|our)|my (?:startup|new app|side project)|we offer|our (?:clients|customers) (?:love|get|see))\\b',
      ),
    ],
  },
  {
    key: 'already_bought',
    label: 'Has already decided',
    max: 60,
    cues: [
      cue(
        60,
        '\\b(?:we|i) (?:already|finally|recently|just) (?:switched|moved|migrated|bought|chose|signed|went with)\\b',
      ),
      cue(
        60,
        '\\b(?:ended up (?:going with|choosing|buying)|so happy (?:with|we switched)|problem solved)\\b',
      ),
    ],
  },
];
