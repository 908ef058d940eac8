import { robotsDocument } from '../robots-rules.ts';
import { jetstreamFrames } from '../sources/bluesky.ts';
import { discourseFound, discourseLatest } from '../sources/discourse.ts';
import { feedDocument } from '../sources/feeds.ts';
import { gitHubDiscussions, gitHubIssues } from '../sources/github.ts';
import { hackerNewsHits } from '../sources/hackernews.ts';
import { hiringPosts, hiringThreads } from '../sources/hackernews-hiring.ts';
import { ashbyBoard, greenhouseBoard, leverBoard } from '../sources/job-boards.ts';
import { lemmyPosts } from '../sources/lemmy.ts';
import { lobstersStories } from '../sources/lobsters.ts';
import { mastodonStatuses } from '../sources/mastodon.ts';
import { recruiteeBoard, workableBoard } from '../sources/more-job-boards.ts';
import { redditPosts, redditToken } from '../sources/reddit.ts';
import { formDNotice } from '../sources/sec-form-d.ts';
import { smartRecruitersDetail, smartRecruitersJobs } from '../sources/smart-recruiters.ts';
import { stackExchangeError, stackExchangeQuestions } from '../sources/stack-exchange.ts';
import type { Parser } from './parser.ts';

/** Every parser, by its name: what the parsing thread can be asked for. */
export const PARSERS: ReadonlyMap<string, Parser<never, unknown>> = new Map(
  [
    robotsDocument,
    feedDocument,
    ...[discourseLatest, discourseFound, lemmyPosts, mastodonStatuses, lobstersStories],
    ...[hackerNewsHits, hiringThreads, hiringPosts, stackExchangeQuestions, stackExchangeError],
    ...[gitHubIssues, gitHubDiscussions, redditToken, redditPosts, jetstreamFrames, formDNotice],
    ...[greenhouseBoard, leverBoard, ashbyBoard, recruiteeBoard, workableBoard],
    ...[smartRecruitersJobs, smartRecruitersDetail],
  ].map((parser) => [parser.name, parser as Parser<never, unknown>]),
);
