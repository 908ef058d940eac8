import { invalidAt } from '../model/errors.ts';
import type { SignalStore } from '../store/signal-store.ts';
import type { Why } from './why.ts';

const MAX_TEMPLATE_CHARS = 4_000;

/** The placeholders of a template, and what replaces each. */
export const REPLY_PLACEHOLDERS = {
  first_name: 'The author’s first name, or their name on the platform',
  need: 'What they want, such as “looking for a help desk”',
  headline: 'The title of their post, or the sentence that asks',
  community: 'Where they wrote it, such as “r/SaaS on Reddit”',
  offer: 'The offer of the profile that found the post',
  sender: 'The name of your account',
} as const;
export type ReplyValues = Record<keyof typeof REPLY_PLACEHOLDERS, string>;

export const DEFAULT_REPLY = `Hi {{first_name}},

I saw that you are {{need}}.
{{offer}}

Happy to answer questions here or show you how it would work for you.

{{sender}}`;

/** The template of a tenant's replies. */
export async function readReplyTemplate(store: SignalStore, tenantId: string): Promise<string> {
  return (await store.getReplyTemplate(tenantId)) ?? DEFAULT_REPLY;
}

/** @throws DomainError `INVALID_REQUEST` */
export async function saveReplyTemplate(
  store: SignalStore,
  tenantId: string,
  template: string,
): Promise<void> {
  const text = template.replace(/\r\n?/g, '\n').trim();
  if (text.length > MAX_TEMPLATE_CHARS)
    throw invalidAt('/template', `The template can have at most ${MAX_TEMPLATE_CHARS} characters.`);
  const names = [...text.matchAll(/\{\{([^{}]*)\}\}/g)].map(([, name = '']) => name.trim());
  const unknown = names.find((name) => !Object.hasOwn(REPLY_PLACEHOLDERS, name));
  if (unknown !== undefined)
    throw invalidAt(
      '/template',
      `There is no placeholder {{${unknown}}}. Use ${Object.keys(REPLY_PLACEHOLDERS).join(', ')}.`,
    );
  if (/\{\{|\}\}/.test(text.replace(/\{\{[^{}]*\}\}/g, '')))
    throw invalidAt('/template', 'A placeholder starts with {{ and ends with }}.');
  // Empty: the house's own words again.
  await store.saveReplyTemplate(tenantId, text === '' ? DEFAULT_REPLY : text);
}

/**
 * A reply for a person to read over and send themselves. A line whose placeholder has nothing to say is left out; a name that
 * is not known is left out alone. Pure.
 */
export function draftReply(template: string, values: ReplyValues): string {
  const lines = template.split('\n').flatMap((line) => {
    const named = [...line.matchAll(/\{\{([^{}]*)\}\}/g)].map(([, name = '']) => name.trim());
    const wordsFor = (name: string) => (values as Record<string, string>)[name] ?? '';
    if (named.some((name) => name !== 'first_name' && wordsFor(name) === '')) return [];
    return [
      line.replace(/ ?\{\{([^{}]*)\}\}/g, (all, name: string) => {
        const value = wordsFor(name.trim());
        return value === '' ? '' : (all.startsWith(' ') ? ' ' : '') + value;
      }),
    ];
  });
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** What an author wants, put to themselves: "looking for a help desk for your team"; empty where no words of theirs say it. */
export function needOf({ reasons: [first] }: Why): string {
  if (first === undefined || first.quote === null) return '';
  const need = first.text.replace(/\btheir\b/g, 'your').replace(/\bthey\b/g, 'you');
  return need.charAt(0).toLowerCase() + need.slice(1);
}

/** The name to greet somebody by. */
export function firstNameOf(name: string): string {
  return name.trim().split(/\s+/)[0] ?? '';
}
