/**
 * `npm run chart`: writes deploy/kubernetes/gleaner.yaml, what the chart makes of its defaults.
 * Needs helm. The first line has a digest of the chart, by which a test without helm sees that the
 * manifests are not the chart's any more.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const chart = join(root, 'deploy', 'helm', 'gleaner');

/** Of every file of the chart but its README. */
export function digestOfChart() {
  const hash = createHash('sha256');
  for (const name of readdirSync(chart, { recursive: true }).sort()) {
    if (name === 'README.md') continue;
    try {
      hash.update(name).update(readFileSync(join(chart, name)));
    } catch (error) {
      if (error.code !== 'EISDIR') throw error;
    }
  }
  return hash.digest('hex').slice(0, 16);
}

/**
 * Runs helm on a copy with an empty chart in place of the NATS one, which is fetched from the
 * network. Null: helm is not installed.
 */
export function helm(command, args = []) {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-chart-'));
  try {
    cpSync(chart, folder, { recursive: true });
    const dependency = join(folder, 'charts', 'nats');
    mkdirSync(dependency, { recursive: true });
    const about = 'apiVersion: v2\nname: nats\nversion: 1.2.0\n';
    writeFileSync(join(dependency, 'Chart.yaml'), about);
    const { status, stdout, stderr, error } = spawnSync('helm', [...command, folder, ...args], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    return error?.code === 'ENOENT' ? null : { status, stdout, stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The manifests with the chart's defaults and one NATS server. */
export function manifests() {
  const server = 'config.nats.servers={nats://nats:4222}';
  // Without a cluster helm assumes a version by its own build, which can be too old for the chart.
  const settings = ['--namespace', 'gleaner', '--kube-version', '1.30.0', '--set', server];
  const rendered = helm(['template', 'gleaner'], settings);
  if (rendered === null) return null;
  if (rendered.status !== 0) throw new Error(rendered.stderr);
  const text = rendered.stdout.replaceAll(/^# Source: .*\n/gm, '');
  return `# Written by \`npm run chart\` from chart ${digestOfChart()}; do not edit.\n${text}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = manifests();
  if (text === null) {
    console.error('needs helm: go install helm.sh/helm/v3/cmd/helm@v3.20.2');
    process.exit(1);
  }
  writeFileSync(join(root, 'deploy', 'kubernetes', 'gleaner.yaml'), text);
}
