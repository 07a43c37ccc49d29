import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { temporaryFolder } from '../support/temporary-folder.js';

/** The first setting of the published runs. */
const [HEADER, ...RUNS] = readFileSync('docs/results/compare/runs.csv', 'utf8').split('\n');
const LINES = [
  HEADER!,
  ...RUNS.filter((line) => line.startsWith(RUNS[0]!.slice(0, RUNS[0]!.indexOf('"', 1)))),
];

/** What the script prints of these lines. */
function verdictsOf(lines: readonly string[]) {
  const file = join(temporaryFolder('comparison-verdicts'), 'runs.csv');
  writeFileSync(file, `${lines.join('\n')}\n`);
  const args = ['scripts/comparison-verdicts.mjs', file];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { code: status, output: stdout + stderr };
}

test('verdicts read figures by the names of their columns, not by their places', (t) => {
  const { code, output } = verdictsOf(LINES);
  t.is(code, 0, output);
  t.regex(output, /^- /m);
  const added = LINES.map((line, i) => `${line},${i === 0 ? 'later.figure' : i}`);
  t.is(verdictsOf(added).output, output);
});

test('verdicts refuse runs without a figure that they need', (t) => {
  const { code, output } = verdictsOf(LINES.map((line) => line.replace(/,[^,]*$/, '')));
  t.is(code, 1);
  t.regex(output, /no column utilization_share/);
});

test('verdicts refuse a run that is there twice, which is not another seed', (t) => {
  const { code, output } = verdictsOf([...LINES, LINES[1]!]);
  t.is(code, 1);
  t.regex(output, /runs\.csv: the run of .+ in '.+', seed \d+, is repeated/);
});
