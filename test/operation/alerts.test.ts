import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { aPost, buildTestApp } from '../support/app.ts';

const FOLDER = 'docs/operation';
const ALERTS = `${FOLDER}/alerts.yml`;

interface Rule {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}

const rules: Rule[] = parse(readFileSync(ALERTS, 'utf8')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
);
const dashboard = JSON.parse(readFileSync(`${FOLDER}/grafana-dashboard.json`, 'utf8'));
const queries: string[] = dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
  targets.map(({ expr }) => expr),
);

/** The names of our own and our process's series in a Prometheus query. */
const namesIn = (query: string) => query.match(/\b(signalpost|process|nodejs)_[a-z0-9_]+/g) ?? [];

test('every metric used by an alert or the dashboard exists', async () => {
  const t = await buildTestApp();
  onTestFinished(() => t.app.close());
  await t.app.inject({ method: 'POST', url: '/v1/signals', payload: aPost(), headers: t.auth });
  const { body } = await t.app.inject('/metrics');
  const known = new Set<string>();
  for (const [, name = '', type] of body.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    known.add(name);
    if (type === 'histogram') for (const end of ['bucket', 'sum', 'count']) known.add(`${name}_${end}`);
  }
  const named = [...rules.map(({ expr }) => expr), ...queries].flatMap(namesIn);
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test('every alert has a severity and a summary, and a heading in the runbook', () => {
  const headings = [...readFileSync(`${FOLDER}/runbook.md`, 'utf8').matchAll(/^## (.+)$/gm)].map(
    ([, heading = '']) => heading.toLowerCase().replaceAll(' ', '-'),
  );
  expect(rules.length).toBeGreaterThan(10);
  for (const { alert, labels, annotations } of rules) {
    expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(critical|warning|info)$/)]);
    expect(annotations.summary).toMatch(/\.$/);
    const [file, heading] = annotations.runbook.split('#');
    expect(file).toBe(`${FOLDER}/runbook.md`);
    expect(headings).toContain(heading);
  }
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
});

const promtool = spawnSync('promtool', ['--version']).status === 0;

test.runIf(promtool)('promtool accepts the alert rules', () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', ALERTS], { encoding: 'utf8' });
  expect([status, stdout, stderr]).toEqual([0, expect.stringContaining('SUCCESS'), '']);
});

test('the dashboard has a panel for each of its queries, and no two at the same position', () => {
  const places = dashboard.panels.map(
    ({ gridPos: { x, y } }: { gridPos: { x: number; y: number } }) => `${x},${y}`,
  );
  expect(new Set(places).size).toBe(places.length);
});
