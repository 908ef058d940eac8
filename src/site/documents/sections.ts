import type { Page, SiteContent } from '../content/site-content.ts';

/** A heading and the pages under it. */
export interface Section {
  section: string;
  pages: Page[];
}

/** What an agent short of room may leave out (llmstxt.org); it stands last. */
export const OPTIONAL_SECTION = 'Optional';

/** The pages under their headings, in the order that the identity gives; headings without pages are left out. */
export function bySection({
  identity,
  pages,
}: Pick<SiteContent, 'identity'> & { pages: readonly Page[] }): Section[] {
  const named = identity.sections.filter((section) => section !== OPTIONAL_SECTION);
  const others = pages.map(({ section }) => section).filter((section) => section !== OPTIONAL_SECTION);
  return [...new Set([...named, ...others, OPTIONAL_SECTION])]
    .map((section) => ({ section, pages: pages.filter((page) => page.section === section) }))
    .filter((group) => group.pages.length > 0);
}
