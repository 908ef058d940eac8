import { z } from 'zod';
import type { Caller } from '../http/request-context.ts';
import type { LeadParts } from '../leads/changes.ts';
import type { Cursors } from '../lib/cursor.ts';
import type { Scope } from '../model/key.ts';
import { slimSchema } from './slim-schema.ts';

/** What tools need of the process: the parts of the same use cases that `/v1` calls. */
export interface ToolParts extends LeadParts {
  cursors: Cursors;
}

/** One request of a client, for whom its tools are run. */
export interface McpCall {
  readonly parts: ToolParts;
  readonly caller: Caller;
  readonly tenantId: string;
}

/** A tool as `tools/list` shows it. */
export interface ListedTool {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object'; [keyword: string]: unknown };
  outputSchema: { type: 'object'; [keyword: string]: unknown };
  annotations: {
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
    openWorldHint: boolean;
  };
}

/** A tool whatever its input and output are. */
export interface Tool {
  readonly listed: ListedTool;
  readonly scope: Scope;
  /** Checks the arguments, runs, and returns what becomes `structuredContent`. @throws ZodError, DomainError */
  run(call: McpCall, args: unknown): Promise<object>;
}

interface ToolDefinition<I extends z.ZodObject, O extends z.ZodObject> {
  name: string;
  title: string;
  description: string;
  /** What a key needs for it; a tool that its key may not use is not listed. */
  scope: Scope;
  /** Left out: it only reads. `again`: whether the same call again changes nothing more. */
  writes?: { again: boolean };
  input: I;
  output: O;
  handle(call: McpCall, input: z.output<I>): Promise<z.output<O>>;
}

/** A tool: what clients are shown of it, made once, and how it is run. */
export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(
  definition: ToolDefinition<I, O>,
): Tool {
  const { name, title, description, scope, writes, input, output, handle } = definition;
  return {
    scope,
    listed: {
      name,
      title,
      description,
      inputSchema: slimSchema(input, 'input'),
      outputSchema: slimSchema(output, 'output'),
      annotations: {
        readOnlyHint: writes === undefined,
        destructiveHint: false,
        idempotentHint: writes?.again ?? true,
        // Everything is in the tenant's own account.
        openWorldHint: false,
      },
    },
    run: (call, args) => handle(call, input.parse(args)),
  };
}

/** The members of every tool that returns a list. */
export const listedInput = {
  limit: z.int().min(1).max(50).default(10).describe('Maximum number of rows'),
  cursor: z.string().max(2_000).optional().describe('next_cursor of the previous answer'),
};

/** What every list returns beside its rows. */
export const listedOutput = {
  next_cursor: z.string().nullable().describe('null: nothing follows'),
  truncated: z.boolean().describe('Fewer rows than asked for, as they were too long for one answer'),
};
