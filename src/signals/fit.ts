import type { IcpProfile } from '../model/icp.ts';
import {
  bestOf,
  compareIndustries,
  compareTitles,
  overlaps,
  readHeadcount,
  readIndustry,
  readTitle,
  type Verdict,
} from './fit/facts.ts';
import { comparePlaces, readPlace } from './fit/places.ts';
import { tokenize } from './tokens.ts';

const FIT_KEYS = ['title', 'industry', 'headcount', 'location'] as const;
export type FitKey = (typeof FIT_KEYS)[number];

/** Facts about the author and their company; an empty string means unknown. */
export interface FitFacts {
  title: string;
  companyName: string;
  industry: string;
  headcount: string;
  location: string;
}

/** What a profile asks of author and company, made ready once for each of its versions. */
export interface CompiledFit {
  /** Those that it asks. */
  questions: { key: FitKey; asks: (fact: ReadFact) => Verdict }[];
  /** Competitors, by {@link companyKey}. */
  vendors: ReadonlySet<string>;
}

/** The facts of a post, understood once for all profiles. */
export type ReadFacts = Record<FitKey, ReadFact> & {
  vendorKey: string;
  companyName: string;
  /** Whether anything is known of the company. */
  isKnown: boolean;
};

interface ReadFact {
  field: string;
  /** As it was given; empty: unknown. */
  text: string;
  words: string;
  title: ReturnType<typeof readTitle>;
  industry: ReturnType<typeof readIndustry>;
  headcount: ReturnType<typeof readHeadcount>;
  place: ReturnType<typeof readPlace>;
}

/** What is known to one of the profile's questions. */
export interface FitAnswer {
  key: FitKey;
  verdict: Verdict;
  field: string;
  /** The fact that answers it; empty: it is not known. */
  fact: string;
}

export function compileFit(profile: IcpProfile): CompiledFit {
  const { titles, industries, locations, headcountRanges } = profile;
  const questions: CompiledFit['questions'] = [
    { key: 'title', asks: anyOf(titles, readTitle, (fact, wanted) => compareTitles(fact.title, wanted)) },
    {
      key: 'industry',
      asks: anyOf(industries, readIndustry, (fact, wanted) => compareIndustries(fact.industry, wanted)),
    },
    {
      key: 'headcount',
      asks: ({ headcount }) => {
        if (headcount === null) return 'unknown';
        return headcountRanges.some((range) => overlaps(headcount, range)) ? 'fits' : 'does_not_fit';
      },
    },
    {
      key: 'location',
      asks: anyOf(locations, readPlace, (fact, wanted) => comparePlaces(fact.place, wanted)),
    },
  ];
  const asked = { title: titles, industry: industries, headcount: headcountRanges, location: locations };
  return {
    questions: questions.filter(({ key }) => asked[key].length > 0),
    vendors: new Set(profile.competitors.map(companyKey)),
  };
}

/** A question that any of `terms` answers: the fact holds its words, or is known to be of its kind. */
function anyOf<T>(
  terms: readonly string[],
  read: (term: string) => T,
  compare: (fact: ReadFact, wanted: T) => Verdict,
): (fact: ReadFact) => Verdict {
  const wanted = terms.map((term) => ({ words: wordsOf(term), meant: read(term) }));
  return (fact) =>
    bestOf(wanted.map(({ words, meant }) => (fact.words.includes(words) ? 'fits' : compare(fact, meant))));
}

export function readFacts({ title, companyName, industry, headcount, location }: FitFacts): ReadFacts {
  return {
    title: readFact('prospect.title', title),
    industry: readFact('company.industry', industry),
    headcount: readFact('company.headcount', headcount),
    location: readFact('company.location', location),
    companyName,
    vendorKey: companyKey(companyName),
    isKnown: industry !== '' || headcount !== '' || location !== '',
  };
}

function readFact(field: string, text: string): ReadFact {
  return { field, ...(text === '' ? NOTHING : readText(text)) };
}

function readText(text: string): Omit<ReadFact, 'field'> {
  return {
    text,
    words: wordsOf(text),
    title: readTitle(text),
    industry: readIndustry(text),
    headcount: readHeadcount(text),
    place: readPlace(text),
  };
}

/** Read once: of most posts nothing is known of author and company. */
const NOTHING = readText('');

/** What is known to each question that the profile asks. What is not known speaks neither for nor against. */
export function fitAnswers(facts: ReadFacts, { questions }: CompiledFit): FitAnswer[] {
  return questions.map(({ key, asks }) => {
    const fact = facts[key];
    const { field, text } = fact;
    return { key, verdict: text === '' ? 'unknown' : asks(fact), field, fact: text };
  });
}

/** Share of the answers that are known, 0 to 1; 1 where nothing was asked. */
export function coverageOf(answers: readonly FitAnswer[]): number {
  if (answers.length === 0) return 1;
  const known = answers.filter(({ verdict }) => verdict !== 'unknown').length;
  return Math.round((known / answers.length) * 100) / 100;
}

/** Whether the author works for a competitor: they do not buy, whatever they write. */
export function isVendorStaff({ vendorKey }: ReadFacts, { vendors }: CompiledFit): boolean {
  return vendorKey !== '' && vendors.has(vendorKey);
}

/** A company's name without its legal form: `Acme, Inc.` is Acme. */
function companyKey(name: string): string {
  const words = tokenize(name).stems;
  while (words.length > 1 && LEGAL_FORMS.has(words.at(-1) ?? '')) words.pop();
  return words.join(' ');
}

const LEGAL_FORMS = new Set(
  'inc incorporated llc ltd limited corp corporation co company gmbh ag se sa sarl bv nv plc pty oy ab as'.split(
    ' ',
  ),
);

function wordsOf(text: string): string {
  return ` ${tokenize(text).stems.join(' ')} `;
}
