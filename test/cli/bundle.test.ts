import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';

/** In a bundle each module's address is one relative to the bundle. */
const BESIDE = /new URL\("([^"]+)",\s*new URL\("([^"]+)",\s*import\.meta\.url\)/g;

test('each file that a module in a bundle names is there', (t) => {
  const folder = 'dist/cli';
  const bundles = readdirSync(folder).filter((name) => /^(hook|query).*\.js$/.test(name));
  const missing: string[] = [];
  let found = 0;
  for (const name of bundles) {
    const path = join(folder, name);
    for (const [, file, module] of readFileSync(path, 'utf8').matchAll(BESIDE)) {
      found++;
      const url = new URL(file!, new URL(module!, pathToFileURL(path)));
      // Made by a command where the native TensorFlow is wanted.
      if (!existsSync(url) && !file!.includes('.tensorflow')) missing.push(`${name}: ${file}`);
    }
  }
  t.deepEqual(missing, []);
  t.true(found > 0);
});
