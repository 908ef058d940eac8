import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { changeLead } from '../leads/change-lead.ts';
import { requireLead } from '../leads/changes.ts';
import { nameOf } from '../leads/lead-names.ts';
import { DEPARTMENTS, type Lead, leadPatchSchema, SENIORITIES } from '../model/lead.ts';
import { type Form, type FormFaults, faultsOf, formOf, LARGE_FORM, lines, text } from './forms.ts';
import { memberOf } from './gate.ts';
import { linesOfMembers, memberOfLine } from './member-lines.ts';
import { checked, leadCallerOf } from './members.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

const PERSON = ['name', 'first_name', 'last_name', 'email', 'linkedin_url', 'title'] as const;
const COMPANY = ['name', 'domain', 'industry', 'headcount', 'location'] as const;
const CHOICES = ['seniority', 'department'] as const;

type Params = { Params: { id: string } };

/** What is known of a lead, changed by hand: facts, tags, own fields. What is emptied is not known any more. */
export function addLeadEdit(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  const path = '/leads/:id/edit';
  async function screen(request: FastifyRequest, reply: FastifyReply, id: string, shown: Shown = {}) {
    const { lead } = await requireLead(parts.store, memberOf(request).tenant.id, id);
    return show(request, reply, {
      template: 'lead-edit',
      title: `Edit ${nameOf(lead)}`,
      name: nameOf(lead),
      id,
      form: formOfLead(lead),
      faults: {},
      person: PERSON,
      company: COMPANY,
      seniorities: SENIORITIES,
      departments: DEPARTMENTS,
      ...shown,
    });
  }
  app.get<Params>(path, { config: { onlyToChange: true } }, (request, reply) =>
    screen(request, reply, request.params.id),
  );
  app.post<Params>(path, LARGE_FORM, async (request, reply) => {
    const { id } = request.params;
    const form = formOf(request);
    const { lead } = await requireLead(parts.store, memberOf(request).tenant.id, id);
    try {
      const patch = checked(leadPatchSchema, patchOf(form, lead));
      await changeLead(parts, leadCallerOf(request), { id, patch });
    } catch (error) {
      return screen(request, reply, id, { form, faults: faultsOf(error), status: 400 });
    }
    return reply.redirect(`/dashboard/leads/${encodeURIComponent(id)}?done=saved`, 303);
  });
}

interface Shown {
  form?: Form;
  faults?: FormFaults;
  status?: number;
}

function formOfLead(lead: Lead): Form {
  const form: Form = {
    source: lead.source,
    tags: lead.tags.join(', '),
    custom_fields: linesOfMembers(lead.custom_fields),
  };
  for (const name of [...PERSON, ...CHOICES]) form[name] = lead[name];
  for (const name of COMPANY) form[`company_${name}`] = lead.company[name];
  return form;
}

/** What is other than it was: what was concluded of a fact that stays is not set by hand by saving it. */
function patchOf(form: Form, lead: Lead): unknown {
  const before = formOfLead(lead);
  const isChanged = (name: string) => text(form, name).trim() !== text(before, name);
  const patch: Record<string, unknown> = {};
  for (const name of [...PERSON, ...CHOICES, 'source']) {
    if (isChanged(name)) patch[name] = text(form, name);
  }
  const company = COMPANY.filter((name) => isChanged(`company_${name}`));
  if (company.length > 0) {
    patch.company = Object.fromEntries(company.map((name) => [name, text(form, `company_${name}`)]));
  }
  if (isChanged('tags')) {
    patch.tags = text(form, 'tags')
      .split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== '');
  }
  const members = Object.fromEntries(lines(form, 'custom_fields').map(memberOfLine));
  const gone = Object.keys(lead.custom_fields).filter((name) => !Object.hasOwn(members, name));
  if (linesOfMembers(members) !== before.custom_fields) {
    patch.custom_fields = { ...members, ...Object.fromEntries(gone.map((name) => [name, null])) };
  }
  return patch;
}
