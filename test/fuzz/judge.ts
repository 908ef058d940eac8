import type { LightMyRequestResponse } from 'fastify';
import { PROBLEM_SCHEMA } from '../../src/api/openapi/document.ts';
import type { Answer, Operation } from '../support/openapi.ts';
import type { CheckSchema } from '../support/schema-check.ts';

const KNOWN_MEMBERS = new Set(Object.keys(PROBLEM_SCHEMA.properties as object));

/** Returns how a response violates the description of its operation; nothing if it conforms. */
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
  const unknown = type === 'application/problem+json' ? unknownMembers(value) : [];
  const faults = [...check(media.schema, value), ...unknown];
  return faults.map((fault) => `${answer.statusCode} body: ${fault}`);
}

/** The schema allows further members, as RFC 9457 requires of readers; our own are all described. */
function unknownMembers(problem: unknown): string[] {
  const members = Object.keys(Object(problem)).filter((name) => !KNOWN_MEMBERS.has(name));
  return members.map((name) => `/${name} is not described`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
