import type { LightMyRequestResponse } from 'fastify';
import type { Answer, Operation } from '../support/openapi.ts';
import type { CheckSchema } from '../support/schema-check.ts';

/** What is wrong with an answer by its operation's description; nothing where it is as promised. */
export type Judge = (operation: Operation, answer: LightMyRequestResponse) => string[];

export function createJudge(check: CheckSchema): Judge {
  return (operation, answer) => {
    const { statusCode } = answer;
    if (statusCode >= 500) return [`answered ${statusCode}`];
    const described = operation.answers[statusCode];
    if (described === undefined) return [`answered ${statusCode}, which is not described`];
    return [...headerFaults(described, answer, check), ...bodyFaults(described, answer, check)];
  };
}

function headerFaults({ headers }: Answer, answer: LightMyRequestResponse, check: CheckSchema): string[] {
  return Object.entries(headers).flatMap(([name, { required, schema }]) => {
    const value = answer.headers[name.toLowerCase()];
    if (value === undefined) return required ? [`${answer.statusCode} without the header ${name}`] : [];
    const isNumber = schema.type === 'integer' && /^\d+$/.test(String(value));
    return check(schema, isNumber ? Number(value) : String(value)).map((fault) => `header ${name}: ${fault}`);
  });
}

function bodyFaults({ content }: Answer, answer: LightMyRequestResponse, check: CheckSchema): string[] {
  if (content === undefined) return answer.body === '' ? [] : [`${answer.statusCode} with a body`];
  const type = String(answer.headers['content-type']).replace(/;.*/, '');
  const media = content[type];
  if (media === undefined)
    return [`${answer.statusCode} is ${type}, not ${Object.keys(content).join(' or ')}`];
  const value = parse(answer.body);
  if (value === undefined) return [`${answer.statusCode} with a body that is no JSON`];
  return check(media.schema, value).map((fault) => `${answer.statusCode} body: ${fault}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
