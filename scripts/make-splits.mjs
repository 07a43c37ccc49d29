/**
 * Makes the fixed files of applications and splits beside the shipped workloads (build first):
 *   npm run build && node scripts/make-splits.mjs && npm run format
 * With `--check` it writes nothing and fails where a shipped file differs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SeededRandom } from '../dist/config/index.js';
import { awareName } from '../dist/simulator/workload/aware.js';
import { builtinWorkload } from '../dist/simulator/workload/open.js';
import { SEGMENT_NAMES } from '../dist/simulator/workload/segments.js';

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

/** An hour in three parts that follow each other: a manager is tested on what comes later. */
const SPLIT_MINUTES = { train: [0, 36], validation: [36, 48], test: [48, 60] };
const AWARE_APPS = 1000;
/**
 * Sizes of the parts: 800 to train the meta-learner, a fifth of them held out for validation, and
 * 200 to test [AWARE].
 */
const AWARE_PARTS = { train: 640, validation: 160, test: 200 };

/** Divides names at random: three fifths, a fifth, a fifth, each in their old order. */
function splitNames(names) {
  const random = new SeededRandom(SEED).fork('split');
  const order = names
    .map((name, index) => ({ name, index, at: random.next() }))
    .sort((a, b) => a.at - b.at);
  const fifth = Math.max(1, Math.round(names.length / 5));
  const part = (from, to) =>
    order
      .slice(from, to)
      .sort((a, b) => a.index - b.index)
      .map(({ name }) => name);
  return { test: part(0, fifth), validation: part(fifth, 2 * fifth), train: part(2 * fifth) };
}

/**
 * Composes the applications: the number of segments is drawn first, then each with replacement;
 * activations a day run from 10^3 to 3 x 10^5, evenly by their logarithm ("high" load is above
 * 10^5).
 *
 * The split is by composition: there are only 968 different ones and short ones come often, so
 * applications with the same segments stay in one part. No test application has been trained on
 * under another name.
 */
function composeAware() {
  const root = new SeededRandom(SEED);
  const random = root.fork('compositions');
  const apps = Array.from({ length: AWARE_APPS }, (_, id) => {
    const segments = Array.from(
      { length: 1 + random.below(3) },
      () => SEGMENT_NAMES[random.below(SEGMENT_NAMES.length)],
    );
    const size = [0.5, 1, 1.5][random.below(3)];
    return { id, segments, size, callsPerDay: Math.round(1000 * 300 ** random.next()) };
  });
  return { apps, parts: splitByComposition(apps, root.fork('split')) };
}

function splitByComposition(apps, random) {
  const groups = new Map();
  for (const { id, segments } of apps) {
    const composition = [...segments].sort().join('+');
    groups.set(composition, [...(groups.get(composition) ?? []), id]);
  }
  const parts = { train: [], validation: [], test: [] };
  // In random order, each into the first of test, validation and train that has room: compositions
  // that came once fill the rest.
  const shuffled = [...groups.values()]
    .map((ids) => ({ ids, at: random.next() }))
    .sort((a, b) => a.at - b.at);
  const often = shuffled.filter(({ ids }) => ids.length > 1);
  for (const { ids } of [...often, ...shuffled.filter((group) => group.ids.length === 1)]) {
    const part = ['test', 'validation', 'train'].find(
      (name) => parts[name].length + ids.length <= AWARE_PARTS[name],
    );
    if (part === undefined) throw new RangeError(`no part has room for ${ids.length} applications`);
    parts[part].push(...ids);
  }
  for (const ids of Object.values(parts)) ids.sort((a, b) => a - b);
  return parts;
}

/** An application as a line of the shipped file: `compress+matMul x1.5 12000/day`. */
const lineOf = ({ segments, size, callsPerDay }) =>
  `${segments.join('+')} x${size} ${callsPerDay}/day`;

const { apps, parts } = composeAware();
ship('aware-apps.json', { seed: SEED, apps: apps.map(lineOf) });

const names = ({ workload }) =>
  workload.functions.map((fn) => fn.name.slice(fn.name.lastIndexOf('/') + 1));
const splits = Object.fromEntries(
  ['azure-ten', 'azure-sample', 'profiles-12', 'profiles-12-slos'].map((name) => [
    name,
    { functions: splitNames(names(builtinWorkload(name))), minutes: SPLIT_MINUTES },
  ]),
);
splits.aware = {
  functions: Object.fromEntries(
    Object.entries(parts).map(([part, ids]) => [part, ids.map((id) => awareName({ id }))]),
  ),
  minutes: SPLIT_MINUTES,
};
ship('splits.json', splits);
