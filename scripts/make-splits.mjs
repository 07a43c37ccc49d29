/**
 * Makes the fixed files of applications and splits beside the shipped workloads (build first):
 *   npm run build && node scripts/make-splits.mjs && npm run format
 * With `--check` it writes nothing and fails where a shipped file differs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { awareLine, awareName, composeAware } from '../dist/simulator/workload/aware.js';
import { builtinWorkload } from '../dist/simulator/workload/open.js';
import { SPLIT_MINUTES, splitNames } from '../dist/simulator/workload/splits.js';

const SEED = 1;
const folder = join(fileURLToPath(new URL('..', import.meta.url)), 'simulator/workload/shipped');
const check = process.argv.includes('--check');

function ship(name, value) {
  const target = join(folder, name);
  const text = JSON.stringify(value, null, 2);
  if (!check) writeFileSync(target, `${text}\n`);
  else if (JSON.stringify(JSON.parse(readFileSync(target, 'utf8')), null, 2) !== text) {
    console.error(`simulator/workload/shipped/${name} is not what the composer makes`);
    process.exitCode = 1;
  }
}

const { apps, parts } = composeAware(SEED);
ship('aware-apps.json', { seed: SEED, apps: apps.map(awareLine) });

const names = ({ workload }) =>
  workload.functions.map((fn) => fn.name.slice(fn.name.lastIndexOf('/') + 1));
const splits = Object.fromEntries(
  ['azure-ten', 'azure-sample', 'profiles-12', 'profiles-12-slos'].map((name) => [
    name,
    { functions: splitNames(names(builtinWorkload(name)), SEED), minutes: SPLIT_MINUTES },
  ]),
);
splits.aware = {
  functions: Object.fromEntries(
    Object.entries(parts).map(([part, ids]) => [part, ids.map((id) => awareName({ id }))]),
  ),
  minutes: SPLIT_MINUTES,
};
ship('splits.json', splits);
