import type { SourceKind } from '../model/source-settings.ts';
import type { Reader } from './reader.ts';
import { readJetstream } from './sources/bluesky.ts';
import { readDiscourse } from './sources/discourse.ts';
import { readFeedSource } from './sources/feeds.ts';
import { readGitHub } from './sources/github.ts';
import { readHackerNews } from './sources/hackernews.ts';
import { readHiring } from './sources/hackernews-hiring.ts';
import { readAshby, readGreenhouse, readLever } from './sources/job-boards.ts';
import { readLemmy } from './sources/lemmy.ts';
import { readLobsters } from './sources/lobsters.ts';
import { readMastodon } from './sources/mastodon.ts';
import { readRecruitee, readWorkable } from './sources/more-job-boards.ts';
import { readReddit } from './sources/reddit.ts';
import { readFormD } from './sources/sec-form-d.ts';
import { readSmartRecruiters } from './sources/smart-recruiters.ts';
import { readStackExchange } from './sources/stack-exchange.ts';

/** Who reads each kind. */
export const READERS: Record<SourceKind, Reader> = {
  rss: readFeedSource,
  hackernews: readHackerNews,
  hackernews_hiring: readHiring,
  stackexchange: readStackExchange,
  greenhouse: readGreenhouse,
  lever: readLever,
  ashby: readAshby,
  smartrecruiters: readSmartRecruiters,
  recruitee: readRecruitee,
  workable: readWorkable,
  sec_form_d: readFormD,
  discourse: readDiscourse,
  lemmy: readLemmy,
  mastodon: readMastodon,
  lobsters: readLobsters,
  github: readGitHub,
  bluesky: readJetstream,
  reddit: readReddit,
};
