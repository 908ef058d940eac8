import { parentPort } from 'node:worker_threads';
import { robotsDocument } from '../robots-rules.ts';
import { SourceFault } from '../source-item.ts';
import { jetstreamFrames } from '../sources/bluesky.ts';
import { discourseFound, discourseLatest } from '../sources/discourse.ts';
import { lemmyPosts, mastodonStatuses } from '../sources/fediverse.ts';
import { feedDocument } from '../sources/feeds.ts';
import { gitHubDiscussions, gitHubIssues } from '../sources/github.ts';
import { hackerNewsHits, hiringPosts, hiringThreads } from '../sources/hackernews.ts';
import {
  ashbyBoard,
  greenhouseBoard,
  leverBoard,
  recruiteeBoard,
  smartRecruitersChanges,
  smartRecruitersDetail,
  smartRecruitersJobs,
  workableBoard,
} from '../sources/job-boards.ts';
import { lobstersStories } from '../sources/lobsters.ts';
import { redditPosts, redditToken } from '../sources/reddit.ts';
import { formDNotice } from '../sources/sec-form-d.ts';
import { stackExchangeError, stackExchangeQuestions } from '../sources/stack-exchange.ts';
import type { ParseAnswer, ParseRequest, Parser } from './parser.ts';

/** Every parser, by name. */
const PARSERS: ReadonlyMap<string, Parser<never, unknown>> = new Map(
  [
    robotsDocument,
    feedDocument,
    ...[discourseLatest, discourseFound, lemmyPosts, mastodonStatuses, lobstersStories],
    ...[hackerNewsHits, hiringThreads, hiringPosts, stackExchangeQuestions, stackExchangeError],
    ...[gitHubIssues, gitHubDiscussions, redditToken, redditPosts, jetstreamFrames, formDNotice],
    ...[greenhouseBoard, leverBoard, ashbyBoard, recruiteeBoard, workableBoard],
    ...[smartRecruitersJobs, smartRecruitersDetail, smartRecruitersChanges],
  ].map((parser) => [parser.name, parser as Parser<never, unknown>]),
);

if (parentPort !== null) serve(parentPort);

function serve(port: NonNullable<typeof parentPort>): void {
  port.on('message', (request: ParseRequest) => port.postMessage(answer(request)));
  // Loading time does not count towards the deadline of a document.
  port.postMessage({ state: 'ready' } satisfies ParseAnswer);
}

function answer({ parser, document, args }: ParseRequest): ParseAnswer {
  try {
    const found = PARSERS.get(parser);
    if (found === undefined) throw new Error(`unknown parser "${parser}"`);
    return { state: 'parsed', result: found.parse(document, args as never) };
  } catch (error) {
    if (error instanceof SourceFault) {
      return { state: 'fault', code: error.code, message: error.message, retryAt: error.retryAt };
    }
    // The stack is exhausted, or a string would exceed the maximum length.
    if (error instanceof RangeError) return { state: 'exhausted' };
    return {
      state: 'broken',
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}
