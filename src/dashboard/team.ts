import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  changeRole,
  type Invited,
  inviteMember,
  removeMember,
  renewInvitation,
  type TeamDeps,
} from '../accounts/team.ts';
import { problemStatus } from '../http/problems.ts';
import { DomainError } from '../model/errors.ts';
import { ROLES, type Role } from '../model/tenant.ts';
import type { DashboardDeps } from './deps.ts';
import { faultsOf, formOf, oneOf, text } from './forms.ts';
import { memberOf } from './gate.ts';
import type { Show } from './screens.ts';

const PATH = '/settings/team';

const MAY: Record<Role, string> = {
  owner: 'full access',
  member: 'everything except team, plan and API keys',
  reader: 'read-only',
};

type ById = { Params: { id: string } };

/** Settings → Team: who may sign in, and their roles. Only owners change it. */
export function addTeam(app: FastifyInstance, deps: DashboardDeps & TeamDeps, show: Show): void {
  const { store, baseUrl } = deps;

  async function showTeam(request: FastifyRequest, reply: FastifyReply, shown: Record<string, unknown> = {}) {
    const { tenant, user } = memberOf(request);
    const members = await store.listMembers(tenant.id);
    return show(request, reply, {
      template: 'team',
      title: 'Team',
      members: members.map(({ passwordHash, ...member }) => ({
        ...member,
        isInvited: passwordHash === null,
        isMe: member.id === user.id,
      })),
      roles: ROLES.map((role) => ({ role, may: MAY[role] })),
      form: { email: '', role: 'member' },
      faults: {},
      fault: null,
      invited: null,
      ...shown,
    });
  }

  function showInvited(request: FastifyRequest, reply: FastifyReply, { user, token }: Invited) {
    const invited = { email: user.email, url: `${baseUrl}/dashboard/setup#token=${token}` };
    return showTeam(request, reply, { invited, sendsMail: deps.sendsMail });
  }

  app.get(PATH, (request, reply) => showTeam(request, reply));
  app.post(PATH, { config: { forOwners: true, showsSecret: true } }, async (request, reply) => {
    const form = formOf(request);
    const wish = { email: text(form, 'email'), role: roleOf(form) };
    try {
      return await showInvited(request, reply, await inviteMember(deps, memberOf(request).tenant, wish));
    } catch (error) {
      if (error instanceof DomainError && error.code === 'RATE_LIMITED') throw error;
      return showTeam(request, reply, { form: wish, faults: faultsOf(error), status: 400 });
    }
  });
  addMemberActs(app, deps, { show, showTeam, showInvited });
}

interface TeamScreens {
  show: Show;
  showTeam(
    request: FastifyRequest,
    reply: FastifyReply,
    shown?: Record<string, unknown>,
  ): Promise<FastifyReply>;
  showInvited(request: FastifyRequest, reply: FastifyReply, invited: Invited): Promise<FastifyReply>;
}

function addMemberActs(
  app: FastifyInstance,
  deps: DashboardDeps & TeamDeps,
  { show, showTeam, showInvited }: TeamScreens,
): void {
  const config = { forOwners: true, showsSecret: true } as const;

  function add(
    name: string,
    act: (request: FastifyRequest, reply: FastifyReply, id: string) => Promise<FastifyReply>,
  ) {
    app.post<ById>(`${PATH}/:id/${name}`, { config }, async (request, reply) => {
      try {
        return await act(request, reply, request.params.id);
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'CONFLICT') throw error;
        const fault = [error.message, error.extra.hint ?? ''].join(' ').trim();
        return showTeam(request, reply, { fault, status: problemStatus(error.code) });
      }
    });
  }

  add('role', async (request, reply, id) => {
    await changeRole(deps, memberOf(request).tenant, { id, role: roleOf(formOf(request)) });
    return reply.redirect(`/dashboard${PATH}?done=saved`, 303);
  });
  add('link', async (request, reply, id) =>
    showInvited(request, reply, await renewInvitation(deps, memberOf(request).tenant, id)),
  );
  add('remove', async (request, reply, id) => {
    await removeMember(deps, memberOf(request).tenant, id);
    return reply.redirect(`/dashboard${PATH}?done=removed`, 303);
  });
  app.get<ById>(
    `${PATH}/:id/remove`,
    { config: { onlyToChange: true, forOwners: true } },
    async (request, reply) => {
      const { tenant } = memberOf(request);
      const member = await deps.store.getMember(tenant.id, request.params.id);
      if (member === null) throw new DomainError('NOT_FOUND', 'There is no such member.');
      return show(request, reply, {
        template: 'confirm',
        title: `Remove ${member.email}?`,
        detail: 'They are logged out at once and can no longer log in. Their past changes are kept.',
        action: `/dashboard${PATH}/${member.id}/remove`,
        button: 'Remove',
        back: `/dashboard${PATH}`,
      });
    },
  );
}

/** An unknown role is read as the one with the fewest permissions. */
function roleOf(form: ReturnType<typeof formOf>): Role {
  return oneOf(form, 'role', ROLES) ?? 'reader';
}
