import { readFileSync } from 'node:fs';
import test from 'ava';
import { parse } from 'yaml';
import { METRICS, type MetricName, PROCESS_METRICS } from '../../runtime/metrics/table.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const folder = 'deploy/prometheus';
const rules = (
  parse(readFileSync(`${folder}/alerts.yml`, 'utf8')) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);

interface Panel {
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
const dashboard = JSON.parse(readFileSync(`${folder}/grafana-dashboard.json`, 'utf8')) as {
  panels: Panel[];
  templating: { list: { query?: string; name: string }[] };
};

/** Series that a metric of the table is scraped as. */
function exposed(): ReadonlySet<string> {
  const names = new Set<string>(['up', ...PROCESS_METRICS]);
  for (const [name, { type }] of Object.entries(METRICS)) {
    if (type === 'histogram')
      for (const suffix of ['_bucket', '_sum', '_count']) names.add(name + suffix);
    else names.add(name);
  }
  return names;
}

const expressions = [
  ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: title, expr })),
  ),
  ...dashboard.templating.list
    .filter(({ query }) => query?.startsWith('label_values'))
    .map(({ name, query }) => ({ where: name, expr: query! })),
];

test('dashboard and alerts use only metrics that exist', (t) => {
  const known = exposed();
  let used = 0;
  for (const { where, expr } of expressions) {
    for (const [name] of expr.matchAll(
      /\b(gleaner_\w+|process_\w+|nodejs_\w+|up)\b(?=\s*[{[)<>=,]|$)/g,
    )) {
      used++;
      t.true(known.has(name), `${where}: ${name}`);
    }
  }
  t.true(used > 50);
});

test('dashboard and alerts select and group by labels that the metric has', (t) => {
  for (const { where, expr } of expressions) {
    for (const [, name, selector] of expr.matchAll(
      /\b(gleaner_\w+?)(?:_bucket|_sum|_count)?\{([^}]*)\}/g,
    )) {
      const labels: readonly string[] = METRICS[name as MetricName]?.labels ?? [];
      for (const [, label] of selector!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g))
        t.true(label === 'instance' || labels.includes(label!), `${where}: ${name}{${label}}`);
    }
    const [metric] = expr.match(/gleaner_\w+/) ?? [];
    const row = METRICS[(metric ?? '').replace(/_bucket$/, '') as MetricName];
    for (const [, grouped] of expr.matchAll(/\bby\s*\(([^)]*)\)/g)) {
      for (const label of grouped!.split(',').map((part) => part.trim()))
        t.true(
          ['instance', 'le', 'cluster'].includes(label) ||
            (row?.labels as readonly string[])?.includes(label),
          `${where}: ${label}`,
        );
    }
  }
});

test('each alert has its section in the runbooks, and each section its alert', (t) => {
  const text = readFileSync('docs/runbooks.md', 'utf8');
  const sections = [...text.matchAll(/^## (\w+)$/gm)].map((match) => match[1]!);
  t.deepEqual([...sections].sort(), rules.map(({ alert }) => alert).sort());
  for (const { alert, annotations } of rules)
    t.is(annotations.runbook, `docs/runbooks.md#${alert.toLowerCase()}`);
});

test('each alert has a case in promtool’s unit tests in which it fires', (t) => {
  const { tests } = parse(readFileSync(`${folder}/alerts.test.yml`, 'utf8')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
  };
  const fired = tests
    .flatMap((each) => each.alert_rule_test)
    .filter((each) => each.exp_alerts.length > 0);
  t.deepEqual(fired.map((each) => each.alertname).sort(), rules.map(({ alert }) => alert).sort());
});

test('names and units keep Prometheus’ rules', (t) => {
  for (const [name, { type, labels, help }] of Object.entries(METRICS)) {
    t.regex(name, /^gleaner_[a-z0-9_]+$/);
    t.is(name.endsWith('_total'), type === 'counter', name);
    t.notRegex(name, /_(millis|milliseconds|ms|micros|mib|millicores|percent)(_|$)/, name);
    t.true(help.length > 10 && help.endsWith('.'), name);
    for (const label of labels) t.regex(label, /^[a-z_]+$/);
  }
});
