import { systemClock } from '../../lib/clock.ts';
import { createYielder } from '../../lib/yielding.ts';
import { readDetails } from '../details.ts';
import { boundedItem, type Parser } from '../documents/parser.ts';
import { decodeEntities } from '../html-text.ts';
import { createWordTest, demandSuccess, holdsEnough, type Reader, type ReadingTask } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';
import { feedDocument } from './feeds.ts';

const PAGE = 100;
const MAX_PAGES = 5;
/** Maximum number of notices per run, each of which takes a request; the next run reads the rest. */
const MAX_DETAILS = 60;
/** The list contains all forms whose name starts with D. */
const FORM_D = /^D(\/A)? - /;

/**
 * Reads notices of private offerings (SEC Form D): who raised how much, and who runs the company
 * (https://www.sec.gov/search-filings).
 */
export const readFormD: Reader = async (task) => {
  const holds = createWordTest(task.source.settings.query);
  const filings = await list(task);
  // Oldest first: the next run lists pages down to the first notice that was read.
  const wanted = filings
    .filter(({ id, postedAt }) => task.isNew(id) && (postedAt ?? task.now) >= task.oldest)
    .reverse();
  const { items, fault, more } = await readDetails(task, wanted, MAX_DETAILS, (filing) =>
    detailed(task, filing),
  );
  // Notices that do not match the query are remembered without text, so they are not read again.
  const read: SourceItem[] = [];
  // Sixty of the longest take up to 0.7 s.
  const nextTurn = createYielder(systemClock);
  for (const item of items) {
    read.push(holds(`${item.title} ${item.body}`) ? item : { ...item, title: '', body: '' });
    await nextTurn();
  }
  const known = filings.filter(({ id }) => !task.isNew(id));
  return { items: [...read, ...known], position: {}, fault, more };
};

async function list({ web, parse, sites, isNew, oldest }: ReadingTask): Promise<SourceItem[]> {
  let filings: SourceItem[] = [];
  for (let page = 0; page < MAX_PAGES; page++) {
    const address = new URL(`${sites.sec_form_d}/cgi-bin/browse-edgar`);
    address.search = new URLSearchParams({
      action: 'getcurrent',
      type: 'D',
      owner: 'include',
      start: String(page * PAGE),
      count: String(PAGE),
      output: 'atom',
    }).toString();
    const answer = demandSuccess(await web.read(address.href, { accept: 'application/atom+xml' }));
    const { items: entries } = await parse(feedDocument, answer, { orLink: false });
    filings = filings.concat(entries.filter(({ title }) => FORM_D.test(title)));
    const continues = entries.every(({ id, postedAt }) => isNew(id) && (postedAt ?? oldest) >= oldest);
    if (entries.length < PAGE || !continues || holdsEnough(filings)) break;
  }
  return filings;
}

async function detailed({ web, parse, sites }: ReadingTask, filing: SourceItem): Promise<SourceItem> {
  const folder = URL.parse(filing.url)?.pathname.replace(/\/[^/]*$/, '') ?? '';
  const address = `${sites.sec_form_d}${folder}/primary_doc.xml`;
  const answer = await web.read(address, { accept: 'application/xml, text/xml;q=0.9' });
  if (answer.status === 404) return { ...filing, signalType: 'funding_event' };
  return parse(formDNotice, demandSuccess(answer), { filing });
}

/** A notice, with the facts in its own document. */
export const formDNotice: Parser<{ filing: SourceItem }, SourceItem> = {
  name: 'form_d_notice',
  parse: ({ body }, { filing }) => boundedItem(toItem(filing, Buffer.from(body).toString('utf8'))),
};

function toItem(filing: SourceItem, xml: string): SourceItem {
  const name = textOf(xml, 'entityName') || filing.title;
  const total = textOf(xml, 'totalOfferingAmount');
  const sold = textOf(xml, 'totalAmountSold');
  const people = blocksOf(xml, 'relatedPersonInfo').map((person) => ({
    name: [textOf(person, 'firstName'), textOf(person, 'lastName')].filter((part) => part !== '').join(' '),
    roles: blocksOf(person, 'relationship').map(plain),
  }));
  const industry = textOf(xml, 'industryGroupType');
  const first = people.find(({ roles }) => roles.some((role) => /executive/i.test(role))) ?? people[0];
  const facts = [
    `Total offering amount: ${dollars(total)}`,
    `Amount sold: ${dollars(sold)}`,
    `Date of first sale: ${textOf(blocksOf(xml, 'dateOfFirstSale')[0] ?? '', 'value')}`,
    `Industry: ${industry}`,
    `Officers and directors: ${people.map(({ name: who, roles }) => `${who} (${roles.join(', ')})`).join('; ')}`,
  ];
  const place = blocksOf(xml, 'issuerAddress')[0] ?? '';
  const location = [textOf(place, 'city'), textOf(place, 'stateOrCountryDescription')];
  return {
    ...filing,
    platform: 'sec_form_d',
    title: `${name} raised ${dollars(sold)} of ${dollars(total)} in a private offering (SEC Form D)`,
    body: facts.filter((fact) => !/: (\(\))?$/.test(fact)).join('\n'),
    author: first?.name ?? '',
    company: {
      name,
      industry,
      location: location.filter((part) => part !== '').join(', '),
    },
    signalType: 'funding_event',
  };
}

/** Formats an amount in dollars; "Indefinite" is returned unchanged. */
function dollars(amount: string): string {
  return /^\d{1,15}$/.test(amount) ? `$${Number(amount).toLocaleString('en-US')}` : amount;
}

/** The content of elements with a given name, without their tags; such elements are never nested. */
function blocksOf(xml: string, name: string): string[] {
  const blocks: string[] = [];
  for (let at = xml.indexOf(`<${name}>`); at !== -1; at = xml.indexOf(`<${name}>`, at)) {
    const start = at + name.length + 2;
    const end = xml.indexOf(`</${name}>`, start);
    if (end === -1) break;
    blocks.push(xml.slice(start, end));
    at = end;
  }
  return blocks;
}

function textOf(xml: string, name: string): string {
  return plain(blocksOf(xml, name)[0] ?? '');
}

function plain(xml: string): string {
  return decodeEntities(xml.replace(/<[^>]{0,200}>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim();
}
