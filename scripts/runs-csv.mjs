import { readFileSync } from 'node:fs';

/** Cells of a line by RFC 4180; empty ones are ''. */
const cellsOf = (line) =>
  [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain,
  );

/**
 * Runs of a comparison's runs.csv, by section and contender, in the order of their seeds. A
 * repeated run is refused: it would count as another seed.
 */
export function readRuns(files) {
  const sections = new Map();
  for (const file of files) {
    const [header, ...lines] = readFileSync(file, 'utf8').trim().split('\n').map(cellsOf);
    for (const line of lines) {
      const run = Object.fromEntries(header.map((key, i) => [key, line[i]]));
      const rows = sections.get(run.section) ?? new Map();
      sections.set(run.section, rows);
      const runs = rows.get(run.contender) ?? [];
      if (runs.some(({ seed }) => seed === run.seed))
        throw new Error(
          `${file}: the run of ${run.contender} in '${run.section}', seed ${run.seed}, is repeated`,
        );
      rows.set(
        run.contender,
        [...runs, run].sort((a, b) => a.seed - b.seed),
      );
    }
  }
  return sections;
}

/** Ends with 1 and one line if the runs are not what `print` needs. */
export function printOrFail(print) {
  try {
    print();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
