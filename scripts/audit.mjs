/**
 * Known vulnerabilities of the packages installed with Gleaner (no development packages). Exit code
 * 1 from severity high on; 0 with a loud line if the registry answers no audits.
 */
import { spawnSync } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const SERIOUS = ['high', 'critical'];
const AUDIT_TIMEOUT_MILLIS = 30_000;

const { stdout, error } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  cwd: root,
  encoding: 'utf8',
  timeout: AUDIT_TIMEOUT_MILLIS,
  stdio: ['ignore', 'pipe', 'ignore'],
});

function report() {
  try {
    return JSON.parse(stdout);
  } catch {
    return null;
  }
}

const answer = report();
const counts = answer?.metadata?.vulnerabilities;
if (counts === undefined) {
  const status = answer?.statusCode ? `status ${answer.statusCode}` : (error?.code ?? 'no answer');
  console.log(
    `*** NOT AUDITED: this registry answers no audits (${status}). Run npm audit elsewhere. ***`,
  );
  process.exit(0);
}
for (const [name, { severity, range, fixAvailable }] of Object.entries(
  answer.vulnerabilities ?? {},
))
  console.log(`${severity}: ${name} ${range}${fixAvailable ? ', a fix is available' : ''}`);
const serious = SERIOUS.reduce((sum, severity) => sum + (counts[severity] ?? 0), 0);
console.log(
  `audited: ${counts.total ?? 0} known vulnerabilities, ${serious} of them high or critical`,
);
process.exit(serious > 0 ? 1 : 0);
