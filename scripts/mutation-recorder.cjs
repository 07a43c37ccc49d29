/** Loaded into each test process of the first mutation run: writes which mutants were reached. */
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');

process.on('exit', () => {
  const { static: reached = {} } = globalThis.__stryker__?.mutantCoverage ?? {};
  const file = join(process.env.GLEANER_MUTANTS_REACHED, `${process.pid}.json`);
  writeFileSync(file, JSON.stringify(Object.keys(reached)));
});
