/**
 * The import directions of docs/architecture.md, checked: folders may only import "downwards", and only another folder's
 * index.ts. Runs without a build and without dependencies.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** folder → the folders it may import. */
const allowed = {
  config: [],
  broker: ['config'],
  agents: ['broker', 'config'],
  'openwhisk-plugin': ['broker', 'config'],
  dashboard: ['broker', 'config'],
  simulator: ['agents', 'openwhisk-plugin', 'broker', 'config'],
  cli: ['agents', 'openwhisk-plugin', 'simulator', 'dashboard', 'broker', 'config'],
  bench: ['cli', 'agents', 'openwhisk-plugin', 'simulator', 'dashboard', 'broker', 'config'],
};

function* sources(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (entry.name.endsWith('.ts')) yield path;
  }
}

const problems = [];
let files = 0;
for (const folder of Object.keys(allowed)) {
  for (const needed of ['index.ts', 'README.md']) {
    if (!readdirSync(join(root, folder)).includes(needed)) problems.push(`${folder}/ has no ${needed}`);
  }
  for (const file of sources(join(root, folder))) {
    files++;
    const text = readFileSync(file, 'utf8');
    for (const match of text.matchAll(/(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)) {
      const target = relative(root, resolve(dirname(file), match[1])).split(sep);
      const where = `${relative(root, file)}: imports '${match[1]}'`;
      if (target[0] === folder) continue;
      if (!(target[0] in allowed)) problems.push(`${where}, outside of the product's folders`);
      else if (!allowed[folder].includes(target[0])) problems.push(`${where}: ${folder} may not know ${target[0]}`);
      else if (target.slice(1).join('/') !== 'index.js')
        problems.push(`${where}: only ${target[0]}/index.js is open to others`);
    }
  }
}

if (problems.length > 0) {
  for (const problem of problems) console.error(problem);
  console.error(`${problems.length} import problems in ${files} files`);
  process.exit(1);
}
console.log(`imports of ${files} files point the right way`);
