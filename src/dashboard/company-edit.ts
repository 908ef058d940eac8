import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { getCompany, putCompany } from '../companies/companies.ts';
import { type Company, companyInputSchema } from '../model/company.ts';
import { COMPANY_FACTS } from '../model/company-facts.ts';
import { type Form, type FormFaults, faultsOf, formOf, LARGE_FORM, text } from './forms.ts';
import { memberOf } from './gate.ts';
import { checked } from './members.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

type Params = { Params: { company: string } };

/** What is set by hand of a company: it stands above what was seen, which comes back where the field is emptied. */
export function addCompanyEdit(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  const path = '/companies/:company/edit';
  function screen(request: FastifyRequest, reply: FastifyReply, company: Company, shown: Shown = {}) {
    const { manual, observed } = company.facts;
    const form = Object.fromEntries(COMPANY_FACTS.map((field) => [field, manual[field]?.value ?? '']));
    return show(request, reply, {
      template: 'company-edit',
      title: `Edit ${company.domain}`,
      company: { id: company.id, domain: company.domain },
      fields: COMPANY_FACTS.map((name) => ({ name, seen: observed[name]?.value ?? '' })),
      form,
      faults: {},
      ...shown,
    });
  }
  const find = (request: FastifyRequest<Params>) =>
    getCompany(parts.store, memberOf(request).tenant.id, request.params.company);

  app.get<Params>(path, { config: { onlyToChange: true } }, async (request, reply) =>
    screen(request, reply, await find(request)),
  );
  app.post<Params>(path, LARGE_FORM, async (request, reply) => {
    const company = await find(request);
    const form = formOf(request);
    try {
      const input = checked(
        companyInputSchema,
        Object.fromEntries(COMPANY_FACTS.map((field) => [field, text(form, field).trim()])),
      );
      await putCompany(parts, company.tenantId, { named: company.id, input });
    } catch (error) {
      return screen(request, reply, company, { form, faults: faultsOf(error), status: 400 });
    }
    return reply.redirect(`/dashboard/companies/${company.id}?done=saved`, 303);
  });
}

interface Shown {
  form?: Form;
  faults?: FormFaults;
  status?: number;
}
