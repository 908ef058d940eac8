/** A place in a file, counted from 1; the column where it is known. */
export interface Place {
  line: number;
  column?: number;
}

/** One fault of the site's content: where it is, what is wrong and what to do. */
export interface ContentFault extends Place {
  file: string;
  detail: string;
}

/** All faults found in the site's content, each with its file and line; nothing is served while there is one. */
export class ContentError extends Error {
  override readonly name = 'ContentError';
  readonly faults: readonly ContentFault[];
  constructor(faults: readonly ContentFault[]) {
    const lines = faults.map(({ file, line, column, detail }) =>
      [file, line, ...(column === undefined ? [] : [column]), ` ${detail}`].join(':'),
    );
    super(
      lines.length === 1
        ? `The site's content has a fault.\n  ${lines[0]}`
        : `The site's content has ${lines.length} faults.\n  ${lines.join('\n  ')}`,
    );
    this.faults = faults;
  }
}
