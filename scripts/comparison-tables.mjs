// Tables of a comparison.json in Markdown, as docs/results/compare has them: slowdown by load and
// contender, then density. node scripts/comparison-tables.mjs <comparison.json>
import { readFileSync } from 'node:fs';

const comparison = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const number = (value) => {
  if (value >= 1000) return value.toFixed(0);
  return value.toPrecision(3);
};
const mean = (row, key) => row.figures[key].mean;
const percent = (value) => `${number(100 * value)} %`;
const line = (cells) => console.log(`| ${cells.join(' | ')} |`);
const head = (cells) => {
  line(cells);
  console.log(`|${'---|'.repeat(cells.length)}`);
};

const groups = new Map();
for (const section of comparison.sections.filter(({ kind }) => kind === 'load')) {
  const title = `${section.setting.workload}, ${section.setting.mode} mode`;
  groups.set(title, [...(groups.get(title) ?? []), section]);
}
for (const [title, sections] of groups) {
  sections.sort((a, b) => a.setting.load - b.setting.load);
  console.log(
    `\n### ${title}\n\nMean slowdown (wait and run), 95 % interval over seeds; p99 in brackets.\n`,
  );
  head([
    'contender',
    ...sections.map(({ setting }) => `load ${setting.load}`),
    'at the highest load: failed; with waiting for a container and cold starts; cold starts',
  ]);
  const highest = sections.at(-1);
  const order = [...highest.rows].sort((a, b) => mean(a, 'service.mean') - mean(b, 'service.mean'));
  for (const { name } of order) {
    const rows = sections.map((section) => section.rows.find((row) => row.name === name));
    line([
      name === 'fixed' ? '**fixed**' : name,
      ...rows.map((row) => {
        const { mean: middle, low, high } = row.figures['service.mean'];
        const p99 = number(mean(row, 'service.p99'));
        return `${number(middle)} [${number(low)}, ${number(high)}] (${p99})`;
      }),
      ['failed.share', 'slowdown.mean', 'cold.share']
        .map((key) => (key === 'slowdown.mean' ? number : percent)(mean(rows.at(-1), key)))
        .join('; '),
    ]);
  }
}

const density = comparison.sections.filter(({ kind }) => kind === 'density');
if (density.length > 0) {
  console.log(
    '\n### Density\n\nShare of cold starts (mean response, ms) by user memory per ' +
      'host (weight mode, load',
  );
  console.log(`${density[0].setting.load}, users leave the default limits of 256 and 512 MB).\n`);
  head(['contender', ...density.map(({ setting }) => `${setting.userMemoryMiB} MiB`)]);
  for (const { name } of density[0].rows)
    line([
      name,
      ...density.map((section) => {
        const row = section.rows.find((each) => each.name === name);
        return `${percent(mean(row, 'cold.share'))} (${mean(row, 'response.mean').toFixed(0)})`;
      }),
    ]);
}
const ahead = comparison.sections.flatMap(({ beatOracle }) => beatOracle);
console.log(
  `\nAhead of the oracle: ${ahead.length === 0 ? 'no manager, in any run' : ahead.join(', ')}.`,
);
