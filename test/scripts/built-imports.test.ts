import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';

const scripts = readdirSync('scripts').filter((name) => name.endsWith('.mjs'));

test('every name that a script imports from what is built exists there', async (t) => {
  const lacking: string[] = [];
  let imports = 0;
  for (const script of scripts) {
    const text = readFileSync(join('scripts', script), 'utf8');
    for (const [, names, path] of text.matchAll(/import \{([^}]*)\} from '(\.\.\/dist\/[^']+)'/g)) {
      const url = pathToFileURL(resolve('scripts', path!)).href;
      const built = (await import(url).catch(() => ({}))) as Record<string, unknown>;
      for (const name of names!.split(',').map((each) => each.trim().split(' as ')[0]!)) {
        if (name === '') continue;
        imports++;
        if (!(name in built)) lacking.push(`scripts/${script}: ${name} of ${path}`);
      }
    }
  }
  t.deepEqual(lacking, []);
  t.true(imports > 5);
});
