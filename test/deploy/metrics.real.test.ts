import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { parse, stringify } from 'yaml';
import type { MetricPart } from '../../runtime/metrics/index.js';
import { METRIC_PARTS, METRICS, PROCESS_METRICS } from '../../runtime/metrics/table.js';
import { familiesOf, seriesOf } from '../runtime/metrics/exposition.js';
import { freePort } from '../support/free-port.js';
import { startUp, until } from '../support/gleaner.js';
import { missing } from '../support/real-parts.js';

const promtool: [string, ...string[]][] = [['promtool', '--version']];
const run = (args: readonly string[], input = ''): { status: number | null; text: string } => {
  const { status, stdout, stderr } = spawnSync('promtool', args, {
    input,
    encoding: 'utf8',
    cwd: 'deploy/prometheus',
  });
  return { status, text: `${stdout}${stderr}` };
};

test.serial('alert rules are right and fire as their unit tests say', (t) => {
  if (missing(t, promtool)) return;
  const checked = run(['check', 'rules', 'alerts.yml']);
  t.is(checked.status, 0, checked.text);
  const tested = run(['test', 'rules', 'alerts.test.yml']);
  t.is(tested.status, 0, tested.text);
});

test.serial('the pages’ scrape configurations are valid and name the job of the alerts', (t) => {
  if (missing(t, promtool)) return;
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-scrape-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  cpSync('deploy/prometheus/alerts.yml', join(folder, 'alerts.yml'));
  for (const page of ['docs/install.md', 'docs/install-kubernetes.md']) {
    const blocks = [...readFileSync(page, 'utf8').matchAll(/^```yaml\n(.*?)^```$/gms)];
    const config = blocks.map(([, text]) => text!).find((text) => text.includes('scrape_configs'));
    t.regex(config ?? '', /job_name: gleaner$/m, page);
    const file = join(folder, 'prometheus.yml');
    // Debian's promtool is built without the discovery of pods.
    const parsed = parse(config!) as { scrape_configs: { kubernetes_sd_configs?: unknown }[] };
    for (const job of parsed.scrape_configs) delete job.kubernetes_sd_configs;
    writeFileSync(file, stringify(parsed));
    const { status, text } = run(['check', 'config', file]);
    t.is(status, 0, `${page}: ${text}`);
  }
});

test.serial('every expression of the dashboard is PromQL', (t) => {
  if (missing(t, promtool)) return;
  const { panels } = JSON.parse(
    readFileSync('deploy/prometheus/grafana-dashboard.json', 'utf8'),
  ) as {
    panels: { targets?: { expr: string }[] }[];
  };
  const exprs = panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }) => expr.replaceAll('$host', '.*')),
  );
  t.true(exprs.length > 30);
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-rules-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'rules.yml');
  const rules = exprs.map((expr, i) => ({ record: `x:r${i}`, expr }));
  writeFileSync(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
  const { status, text } = run(['check', 'rules', file]);
  t.is(status, 0, text);
});

test.serial(
  'every part of a running Gleaner serves all of its metrics, and promtool accepts them',
  async (t) => {
    if (missing(t, [...promtool, ['nats-server', '--version']])) return;
    const ports = {
      hook: await freePort(),
      agents: await freePort(),
      aggregator: await freePort(),
    };
    const address = (part: MetricPart): string => `127.0.0.1:${ports[part]}`;
    const up = startUp({
      mode: 'enforce',
      platform: 'simulated',
      decision: { policy: { quota: 'target' }, targetStaleMs: 300_000 },
      simulator: { speed: 20 },
      agents: { intervalMs: 500, manager: 'greedy' },
      aggregator: { intervalMs: 500 },
      metrics: Object.fromEntries(METRIC_PARTS.map((part) => [part, address(part)])),
    });
    t.teardown(up.clean);
    const page = async (part: MetricPart, path: string): Promise<string> => {
      try {
        return await (await fetch(`http://${address(part)}${path}`)).text();
      } catch {
        return '';
      }
    };
    const value = async (part: MetricPart, name: string): Promise<number> => {
      let sum = Number.NaN;
      for (const [key, one] of seriesOf(await page(part, '/metrics')))
        if (key === name || key.startsWith(`${name}{`)) sum = (Number.isNaN(sum) ? 0 : sum) + one;
      return sum;
    };
    await until(
      async () => (await value('hook', 'gleaner_harvested_cpu_seconds_total')) > 0,
      60_000,
      'CPU harvested',
    );
    await until(
      async () => (await value('agents', 'gleaner_meanfield_staleness_seconds')) >= 0,
      20_000,
      'a mean field',
    );
    await until(
      async () => (await value('aggregator', 'gleaner_aggregator_publishing')) === 1,
      20_000,
      'a publisher',
    );
    await until(
      async () => (await value('aggregator', 'gleaner_meanfield_price_ratio')) >= 0,
      20_000,
      'prices',
    );
    t.true((await value('agents', 'gleaner_agents_targets_total')) > 0);
    for (const [part, step] of [
      ['hook', 'sample'],
      ['agents', 'observe'],
      ['aggregator', 'publish'],
    ] as const)
      t.true(
        (await value(part, `gleaner_loop_step_duration_seconds_count{step="${step}"}`)) > 0,
        `${part} ${step}`,
      );
    for (const part of METRIC_PARTS) {
      const text = await page(part, '/metrics');
      const { status, text: said } = run(['check', 'metrics'], text);
      t.is(status, 0, `${part}: ${said}`);
      t.is(said, '', part);
      const families = familiesOf(text);
      for (const [name, row] of Object.entries(METRICS)) {
        const here = (row.parts as readonly string[]).includes(part);
        t.is(families.get(name), here ? row.type : undefined, `${part}: ${name}`);
      }
      for (const name of families.keys())
        t.true(name in METRICS || PROCESS_METRICS.includes(name), `${part}: ${name}`);
      t.is(await page(part, '/livez'), 'ok\n');
      t.is(await page(part, '/readyz'), 'ok\n');
    }
    up.child.kill('SIGTERM');
    t.is(await up.ended, 0);
  },
);
