import { z } from 'zod';
import { normaliseDomain } from '../lib/domain.ts';

/** A company's domain as callers write it, addresses of web sites included, in the form that it is compared in. */
export const domainSchema = z
  .string()
  .max(2_000)
  .transform((text, context) => {
    const domain = normaliseDomain(text);
    if (domain !== null) return domain;
    context.addIssue({ code: 'custom', message: 'must be a domain such as "example.com"' });
    return z.NEVER;
  });

/** A domain to search for. Text that is no domain matches nothing. */
export const domainFilter = z
  .string()
  .max(2_000)
  .transform((text) => normaliseDomain(text) ?? text.toLowerCase());
