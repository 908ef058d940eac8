import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from '@modelcontextprotocol/server';
import { allows } from '../accounts/keys.ts';
import { DomainError } from '../model/errors.ts';
import type { Scope } from '../model/key.ts';
import { UNTRUSTED_NOTE } from './shown-signal.ts';
import type { McpCall } from './tool.ts';
import { readProfile } from './tools/account.ts';
import { readLead } from './tools/leads.ts';
import { readSignal } from './tools/signals.ts';

const JSON_TYPE = 'application/json';
const ADDRESS = /^signalpost:\/\/(signal|lead|icp)\/([A-Za-z0-9_-]{1,64})$/;

interface ResourceKind {
  title: string;
  description: string;
  scope: Scope;
  read(call: McpCall, id: string): Promise<object>;
}

const KINDS: Readonly<Record<string, ResourceKind>> = {
  signal: {
    title: 'A signal',
    description: `As get_signal returns it. ${UNTRUSTED_NOTE}`,
    scope: 'signals:read',
    read: (call, id) => readSignal(call, { signal_id: id }),
  },
  lead: {
    title: 'A lead',
    description: `As get_lead returns it. ${UNTRUSTED_NOTE}`,
    scope: 'leads:read',
    read: (call, id) => readLead(call, { lead_id: id }),
  },
  icp: {
    title: 'An ideal customer profile',
    description: 'All settings of a profile.',
    scope: 'icps:read',
    read: readProfile,
  },
};

/** `resources/templates/list`: what the key may read. */
export function resourceTemplates({ caller }: McpCall) {
  return Object.entries(KINDS)
    .filter(([, { scope }]) => allows(caller.key.scopes, scope))
    .map(([name, { title, description }]) => ({
      ...{ name, title, description },
      uriTemplate: `signalpost://${name}/{id}`,
      mimeType: JSON_TYPE,
    }));
}

/** `resources/read`. What the key may not read is as absent as another tenant's. @throws ProtocolError */
export async function readResource(call: McpCall, uri: string) {
  const [, name = '', id = ''] = ADDRESS.exec(uri) ?? [];
  const kind = KINDS[name];
  if (kind === undefined || !allows(call.caller.key.scopes, kind.scope)) throw new ResourceNotFoundError(uri);
  try {
    const text = JSON.stringify(await kind.read(call, id));
    return { contents: [{ uri, mimeType: JSON_TYPE, text }] };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    if (error.code === 'NOT_FOUND') throw new ResourceNotFoundError(uri);
    throw new ProtocolError(ProtocolErrorCode.InternalError, error.message);
  }
}
