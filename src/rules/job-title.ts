import type { Department, Seniority } from '../model/lead.ts';

/**
 * The first match wins, so longer titles come before the titles they contain: vice president, then president.
 */
const SENIORITY_RULES: readonly [Seniority, RegExp][] = [
  ['intern', /\b(?:intern(?:ship)?|trainee|apprentice|working student|werkstudent(?:in)?)\b/i],
  ['entry', /\bassistant to\b|\b(?:executive|personal|office|administrative) assistant\b/i],
  ['founder', /\b(?:co-?)?founder\b|\bgründer(?:in)?\b|\bfounding (?:partner|ceo)\b/i],
  [
    'owner',
    /(?<!\b(?:product|process|system|service|data|business|application) )\b(?:co-?)?owner\b|\bproprietor\b|\binhaber(?:in)?\b|\bsole trader\b/i,
  ],
  ['vp', /\b(?:[es]?vp|avp)\b|\bvice[- ]president\b/i],
  [
    'c_suite',
    /\bc[a-z]o\b|\bciso\b|\bchief (?!of staff)\b|\bpresident\b|\b(?:managing|executive) director\b|\bgeschäftsführer(?:in)?\b/i,
  ],
  ['partner', /\bpartner\b(?! (?:manager|marketing|success|account|sales|development|relations))/i],
  ['head', /\bhead\b/i],
  ['director', /\bdirector\b|\bchief of staff\b/i],
  [
    'manager',
    /\b(?:manager|supervisor|superintendent|fore(?:man|woman|person)|team ?lead(?:er)?|leiter(?:in)?)\b/i,
  ],
  ['senior', /\b(?:senior|sr|principal|staff|lead)\b/i],
  ['entry', /\b(?:junior|jr|entry[- ]level|graduate|associate|assistant)\b/i],
];

const DEPARTMENT_RULES: readonly [Department, RegExp][] = [
  [
    'customer_success',
    /\b(?:customer|client) (?:success|support|service|experience|care)\b|\bhelp ?desk\b|\bsupport (?:engineer|agent|manager|lead|specialist)\b|\bcco\b/i,
  ],
  [
    'sales',
    /\bsales\b|\baccount (?:executive|manager|director)\b|\bbusiness development\b|\b[bs]dr\b|\brevenue\b|\bcro\b|\bestimator\b/i,
  ],
  [
    'marketing',
    /\bmarketing\b|\bmarketer\b|\bgrowth\b|\bbrand\b|\bseo\b|\bcmo\b|\bcontent\b|\bcommunications?\b|\bdemand gen(?:eration)?\b|\bpublic relations\b/i,
  ],
  ['security', /\bsecurity\b|\bciso\b/i],
  ['data', /\bdata\b|\banalytics\b|\bmachine learning\b|\bbusiness intelligence\b|\bcdo\b/i],
  ['design', /\bdesign(?:er)?\b|\bux\b|\bui\b/i],
  ['product', /\bproduct\b|\bcpo\b/i],
  ['it', /\bIT\b|\binformation technology\b|\bcio\b|\bsys(?:tem)?s? ?admin(?:istrator)?\b|\bnetwork\b/],
  [
    'engineering',
    /\bengineer(?:ing)?\b|\bdeveloper\b|\bsoftware\b|\bdevops\b|\bsre\b|\bcto\b|\barchitect\b|\bprogrammer\b|\bqa\b|\btechnology\b/i,
  ],
  ['procurement', /\bprocurement\b|\bpurchasing\b|\bbuyer\b|\bsourcing\b/i],
  [
    'finance',
    /\bfinanc(?:e|ial)\b|\bcfo\b|\baccount(?:ant|ing|s)\b|\bcontroller\b|\btreasur(?:er|y)\b|\bbookkeeper\b|\baudit(?:or)?\b/i,
  ],
  [
    'hr',
    /\bhuman resources\b|\bhr\b|\bpeople (?:ops|operations|partner|officer)\b|\btalent\b|\brecruit(?:er|ing|ment)\b|\bchro\b/i,
  ],
  ['legal', /\blegal\b|\bcounsel\b|\battorney\b|\blawyer\b|\bcompliance\b/i],
  [
    'operations',
    /\boperations?\b|\bcoo\b|\blogistics\b|\bsupply chain\b|\bfacilit(?:y|ies)\b|\bproject manager\b|\bplant\b|\bdispatch(?:er)?\b|\bfore(?:man|woman|person)\b|\bsuperintendent\b/i,
  ],
  [
    'executive',
    /\bceo\b|\bchief executive\b|\bfounder\b|\bowner\b|\bpresident\b|\bmanaging director\b|\bgeschäftsführer(?:in)?\b|\bproprietor\b|\binhaber(?:in)?\b/i,
  ],
];

/** The seniority in a job title; empty if unclear. */
export function seniorityOf(title: string): Seniority | '' {
  return SENIORITY_RULES.find(([, pattern]) => pattern.test(title))?.[0] ?? '';
}

/** The department in a job title; empty if unclear. */
export function departmentOf(title: string): Department | '' {
  const found = DEPARTMENT_RULES.find(([, pattern]) => pattern.test(title))?.[0] ?? '';
  // A vice president without a named department is part of management; "president" alone names no department.
  return found === 'executive' && /\bvice[- ]president\b/i.test(title) ? '' : found;
}
