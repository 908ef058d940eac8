import { tokenize } from '../tokens.ts';
import { bestOf, type Verdict } from './verdict.ts';

/**
 * Sectors with the names that directories, profiles and people give them and their branches. A branch that stands after a
 * slash is narrower: a dentist is in health care, of health care it is not known whether it is a dentist.
 */
const SECTORS: Readonly<Record<string, string>> = {
  software:
    'software|saas|computer software|software development|information technology|it service|it services and it consulting|technology|tech|internet|internet software|web service|cloud|cloud computing|paas|app development|b2b saas|enterprise software / fintech|martech|edtech|proptech|healthtech|legaltech|hr tech|devtool|developer tool|cybersecurity|computer and network security|artificial intelligence|ai|machine learning|computer game|gaming',
  finance:
    'finance|financial service|banking|bank|investment management|capital market|venture capital and private equity / fintech|insurance|insurtech|accounting|bookkeeping|payment|wealth management|credit union',
  health:
    'health care|healthcare|hospital and health care|medical|medical practice|health wellness and fitness|wellness / dental|dentist|dentistry|veterinary|mental health care|hospital|clinic|healthtech|medical device|physiotherapy|nursing home',
  pharma: 'pharmaceutical|pharma|biotechnology|biotech|life science',
  construction:
    'construction|building|building construction|civil engineering|building material|contractor|general contractor|trade|home service / plumbing|plumber|electrician|electrical contractor|roofing|roofer|hvac|heating|landscaping|landscaper|carpentry|painting|scaffolding|facility service',
  property: 'real estate|property|property management|commercial real estate|proptech|letting|estate agent',
  manufacturing:
    'manufacturing|industrial|industrial automation|machinery|mechanical or industrial engineering|production / automotive|aerospace|aviation and aerospace|electrical and electronic manufacturing|chemical|plastic|packaging|furniture|textile|medical device|food production|semiconductor',
  retail:
    'retail|ecommerce|e commerce|online retail|consumer good|dtc|direct to consumer|wholesale / apparel and fashion|fashion|apparel|luxury good and jewelry|cosmetic|grocery|supermarket|sporting good',
  hospitality:
    'hospitality|leisure travel and tourism|travel|tourism / restaurant|hotel|catering|food and beverage|bar|cafe|event service',
  education:
    'education|e learning|elearning|education management|training|professional training and coaching / higher education|primary secondary education|school|university|edtech',
  marketing:
    'marketing|marketing and advertising|advertising|advertising service|marketing agency|agency|digital agency|public relation / martech|seo agency|market research',
  consulting:
    'consulting|management consulting|business consulting and service|professional service|business service / accounting|legal service|human resource consulting|staffing and recruiting|outsourcing and offshoring',
  legal: 'legal|legal service|law practice|law firm|law|legaltech',
  staffing:
    'staffing|staffing and recruiting|recruitment|recruiting|human resource|hr|executive search / hr tech',
  logistics:
    'logistic|logistic and supply chain|transportation|supply chain|transportation logistic and storage|trucking|freight|shipping|warehousing|courier / maritime|airline|rail',
  energy:
    'energy|oil and energy|utility|oil and gas|mining / renewable|renewable and environment|solar|wind power|nuclear',
  media:
    'media|media production|entertainment|publishing|broadcast media|film|online media / newspaper|music|podcast|computer game|gaming|design|photography',
  telecom: 'telecommunication|telecom|wireless|isp',
  government: 'government|government administration|public sector|public administration|municipality|defense',
  nonprofit: 'nonprofit|non profit|non profit organization management|ngo|charity|philanthropy',
  agriculture: 'agriculture|farming|agritech|agtech|food production',
  automotive: 'automotive|car dealership|auto repair|dealership|vehicle repair',
};

/** An industry as it is named: a sector, or a branch of it. One name can be several. */
export type Industry = readonly { sector: string /** Null: the sector itself. */; branch: string | null }[];

const LONGEST_NAME = 5;
const NAMES = createNames();

/** The industry that a text names; empty where it names none that is known. */
export function readIndustry(text: string): Industry {
  const key = keyOf(text);
  return NAMES.get(key) ?? longestNamed(key.split(' '));
}

/** Whether an industry is the one that is wanted: SaaS is software, of software it cannot be told whether it is fintech. */
export function compareIndustries(fact: Industry, wanted: Industry): Verdict {
  return bestOf(fact.flatMap((is) => wanted.map((asked) => compareOne(is, asked))));
}

function createNames(): ReadonlyMap<string, Industry> {
  const names = new Map<string, Industry>();
  for (const [sector, all] of Object.entries(SECTORS)) {
    all.split(' / ').forEach((part, narrower) => {
      for (const name of part.split('|')) {
        const key = keyOf(name);
        names.set(key, [...(names.get(key) ?? []), { sector, branch: narrower === 0 ? null : key }]);
      }
    });
  }
  return names;
}

/** Of a longer text the longest names in it, as long as each other: "Plumbing and heating" is both. */
function longestNamed(words: readonly string[]): Industry {
  for (let length = Math.min(LONGEST_NAME, words.length); length > 0; length--) {
    const found = words.flatMap((_, at) => NAMES.get(words.slice(at, at + length).join(' ')) ?? []);
    if (found.length > 0) return found;
  }
  return [];
}

function compareOne(fact: Industry[number], wanted: Industry[number]): Verdict {
  if (fact.sector !== wanted.sector) return 'does_not_fit';
  if (wanted.branch === null || wanted.branch === fact.branch) return 'fits';
  return fact.branch === null ? 'unknown' : 'does_not_fit';
}

function keyOf(name: string): string {
  return tokenize(name.replaceAll('&', ' and ')).stems.join(' ');
}
