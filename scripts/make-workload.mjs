/**
 * Makes simulator/workload/shipped/azure-ten.json from the sample under test/data (build first):
 *   npm run build && node scripts/make-workload.mjs && npm run format
 * With `--check` it writes nothing and fails where the shipped file differs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { importAzure2019 } from '../dist/simulator/workload/azure-2019.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const sample = (table) => {
  const name = `exp_openwhisk_${table}_traces_0.csv`;
  return { name, content: readFileSync(join(root, 'test/data/azure-2019-sample', name)) };
};

const { workload: recorded, summary } = importAzure2019(
  { invocations: sample('invocation'), memory: sample('memory'), durations: sample('duration') },
  { name: 'azure-ten', seed: 1 },
);
const workload = {
  ...recorded,
  // An hour in six minutes, and only durations above 1 s shortened: ten times, never below 300 ms.
  compression: { time: 10, duration: 10, aboveMs: 1000, floorMs: 300 },
};

const text = `${JSON.stringify(workload, null, 2)}\n`;
const target = join(root, 'simulator/workload/shipped/azure-ten.json');
if (process.argv.includes('--check')) {
  if (`${JSON.stringify(JSON.parse(readFileSync(target, 'utf8')), null, 2)}\n` !== text) {
    console.error('simulator/workload/shipped/azure-ten.json is not what the importer makes');
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
console.log(JSON.stringify(summary));
