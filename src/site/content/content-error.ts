/** One fault of the site's content: which file, which line (from 1), what is wrong and what to do. */
export interface ContentFault {
  file: string;
  line: number;
  detail: string;
}

/** All faults found in the site's content, each with its file and line; nothing is served while there is one. */
export class ContentError extends Error {
  override readonly name = 'ContentError';
  readonly faults: readonly ContentFault[];
  constructor(faults: readonly ContentFault[]) {
    const lines = faults.map(({ file, line, detail }) => `${file}:${line}: ${detail}`);
    super(
      lines.length === 1
        ? `The site's content has a fault.\n  ${lines[0]}`
        : `The site's content has ${lines.length} faults.\n  ${lines.join('\n  ')}`,
    );
    this.faults = faults;
  }
}
