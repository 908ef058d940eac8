import { z } from 'zod';
import { excerpt } from '../../lib/text.ts';
import { DEPARTMENTS, SENIORITIES } from '../../model/lead.ts';
import { linkedinProfile } from '../../model/person-keys.ts';
import { domainSchema, emailInput } from '../../model/text.ts';
import { type Fact, vouchFor } from '../facts.ts';

/** How sure an answer is that does not say so itself. */
const USUAL_CONFIDENCE = 0.7;
const MAX_CHARS = 300;

/** A member of another form is as good as none: the rest of the answer still counts. */
const lenient = (schema: z.ZodType<string>) =>
  schema
    .optional()
    .catch('')
    .transform((text = '') => text);
const fact = lenient(
  z.string().transform((text) => excerpt(text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim(), MAX_CHARS)),
);
const confidence = z.number().min(0).max(1).catch(USUAL_CONFIDENCE).default(USUAL_CONFIDENCE);

const personSchema = z.object({
  name: fact,
  first_name: fact,
  last_name: fact,
  email: lenient(emailInput),
  linkedin_url: lenient(
    z
      .string()
      .max(2_000)
      .refine((text) => linkedinProfile(text) !== null),
  ),
  title: fact,
  seniority: lenient(z.enum(SENIORITIES)),
  department: lenient(z.enum(DEPARTMENTS)),
  confidence,
});

const companySchema = z.object({
  name: fact,
  domain: lenient(domainSchema),
  industry: fact,
  headcount: lenient(
    z
      .union([z.string(), z.int().min(0)])
      .transform(String)
      .pipe(z.string().max(MAX_CHARS)),
  ),
  location: fact,
  confidence,
});

const answerSchema = z.object({
  person: personSchema.nullish().catch(null),
  company: companySchema.nullish().catch(null),
});

/** What an answer says, as facts of a lead. @throws where it is no object of the form that a provider promises */
export function factsOfAnswer(answer: unknown): Fact[] {
  const { person, company } = answerSchema.parse(answer);
  const { confidence: ofPerson = 0, ...about } = person ?? {};
  const { confidence: ofCompany = 0, ...firm } = company ?? {};
  const named = Object.fromEntries(Object.entries(firm).map(([name, value]) => [`company.${name}`, value]));
  return [...vouchFor(about, 'provider', ofPerson), ...vouchFor(named, 'provider', ofCompany)];
}
