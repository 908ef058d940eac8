/** A document as it was received from `url`. */
export interface ReceivedDocument {
  body: Uint8Array;
  contentType: string;
  url: string;
}

/**
 * How a document is read: a name that the parsing thread finds it by, and a pure function. Arguments and result cross
 * between threads, so both are plain data; the result is bounded, as the thread that receives it serves everybody.
 */
export interface Parser<Args, Result> {
  name: string;
  /** @throws SourceFault */
  parse(document: ReceivedDocument, args: Args): Result;
}

/** A document, and by which parser it is to be read. */
export interface ParseRequest {
  parser: string;
  document: ReceivedDocument;
  args: unknown;
}

/** What came of it; errors do not cross threads whole. */
export type ParseAnswer =
  | { state: 'ready' }
  | { state: 'parsed'; result: unknown }
  | { state: 'fault'; code: string; message: string; retryAt: number }
  | { state: 'exhausted' }
  | { state: 'broken'; message: string };
