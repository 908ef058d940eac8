import type { Database } from 'better-sqlite3';

export function createProbeSql(db: Database) {
  const update = db.prepare<[number]>('UPDATE probe SET at = ? WHERE id = 1');
  const select = db.prepare<[], number>('SELECT at FROM probe WHERE id = 1').pluck();

  return {
    write(now: number): void {
      update.run(now);
    },
    read: (): number => select.get() ?? 0,
  };
}
