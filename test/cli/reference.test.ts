import { readFileSync } from 'node:fs';
import test from 'ava';
import { generatedDocs } from '../../cli/commands/docs.js';
import { gleanerProgram } from '../../cli/program.js';

test('the generated pages are up to date (otherwise: npm run build && npm run docs)', async (t) => {
  for (const [path, text] of generatedDocs(await gleanerProgram()))
    t.is(readFileSync(path, 'utf8'), text, path);
});
