import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './cli/process.ts';
import { migrationFaults } from './migration-faults.ts';

test.each([
  [['001-a.sql', '002-b.sql'], null],
  [['001-a.sql', '002-b.sql', '002-c.sql', '003-d.sql'], /002-c\.sql has the number of 002-b\.sql/],
  [['001-a.sql', '003-c.sql'], /003-c\.sql .* leaves a gap/],
  [['001-a.sql', '2-b.sql'], /2-b\.sql is misnamed/],
])('reports the migrations %s', (names, fault) => {
  using folder = temporaryFolder();
  for (const name of names) writeFileSync(join(folder.path, name), '');
  const faults = migrationFaults([folder.path]);
  if (fault === null) expect(faults).toEqual([]);
  else expect(faults).toEqual([expect.stringMatching(fault)]);
});
