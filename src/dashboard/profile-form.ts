import { defaultProfile, type IcpResource, icpResource } from '../model/icp.ts';
import { SIGNAL_TYPES, type SignalType } from '../model/signal.ts';
import { type Form, lines, number, text, texts, ticked } from './forms.ts';

const WEIGHTS = ['intent', 'topic', 'urgency', 'budget', 'pain', 'fit'] as const;
const LISTS = [
  'phrases',
  'excluded_phrases',
  'competitors',
  'industries',
  'titles',
  'headcount_ranges',
  'locations',
  'muted_authors',
  'muted_sources',
] as const;

/** The types of signals as a form offers them. */
export const SIGNAL_TYPE_WORDS: Record<SignalType, string> = {
  intent_post: 'Requests',
  qa_forum: 'Questions',
  review: 'Reviews',
  job_change: 'Job changes',
  funding_event: 'Funding rounds',
};

/** The editor's fields of a profile, or of a draft of one. */
export function formOfProfile(profile: Omit<IcpResource, 'id' | 'created_at' | 'updated_at'>): Form {
  const ranges = profile.headcount_ranges.map(({ min, max }) => (max === null ? `${min}+` : `${min}-${max}`));
  const form: Form = {
    name: profile.name,
    description: profile.description,
    offer: profile.offer,
    signal_types: profile.signal_types.length === 0 ? [...SIGNAL_TYPES] : profile.signal_types,
    hot: String(profile.thresholds.hot),
    warm: String(profile.thresholds.warm),
    active: profile.active ? 'on' : '',
  };
  for (const name of LISTS)
    form[name] = (name === 'headcount_ranges' ? ranges : (profile[name] ?? [])).join('\n');
  for (const name of WEIGHTS) form[`weight_${name}`] = String(profile.weights[name]);
  return form;
}

/** The editor of a profile that is not there yet. */
export function emptyProfileForm(): Form {
  return { ...formOfProfile(icpResource(defaultProfile('', '', 0))), name: '', description: '', phrases: '' };
}

/** What the editor says, as `/v1` takes it; to be checked. */
export function wishOf(form: Form): unknown {
  const lists = Object.fromEntries(LISTS.map((name) => [name, lines(form, name)]));
  const weights = Object.fromEntries(
    WEIGHTS.map((name) => [name, number(form, `weight_${name}`) ?? undefined]),
  );
  const types = texts(form, 'signal_types');
  return {
    name: text(form, 'name'),
    description: text(form, 'description'),
    offer: text(form, 'offer'),
    // All of them is said as none: a type that is added later then counts, too.
    signal_types: types.length === SIGNAL_TYPES.length ? [] : types,
    ...lists,
    phrases: [...lines(form, 'phrases'), ...lines(form, 'more_phrases')],
    weights,
    thresholds: { hot: number(form, 'hot') ?? undefined, warm: number(form, 'warm') ?? undefined },
    active: ticked(form, 'active'),
  };
}
