/**
 * A software bill of materials of what is installed with Gleaner, CycloneDX 1.5 in JSON, from the
 * lock file alone: `node scripts/sbom.mjs [file]`, else to the standard output.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
const { status, stdout, stderr } = spawnSync('npm', args, {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
});
if (status !== 0) {
  console.error(`npm sbom failed (npm 10 or newer is needed): ${stderr.trim().split('\n')[0]}`);
  process.exit(1);
}
const sbom = JSON.parse(stdout);
// With --omit=dev, npm leaves out what development packages need too (seen with npm 11.19): so the
// lock file says what is installed.
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const installed = new Set(
  Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .map(
      ([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)} ${version}`,
    ),
);
sbom.components = sbom.components.filter(({ name, version }) =>
  installed.has(`${name} ${version}`),
);
const kept = new Set([
  sbom.metadata.component['bom-ref'],
  ...sbom.components.map((each) => each['bom-ref']),
]);
sbom.dependencies = sbom.dependencies
  .filter(({ ref }) => kept.has(ref))
  .map(({ ref, dependsOn = [] }) => ({
    ref,
    dependsOn: dependsOn.filter((each) => kept.has(each)),
  }));
// npm takes the folder's name; a clone may lie anywhere.
sbom.metadata.component.name = 'gleaner';
const text = `${JSON.stringify(sbom, null, 1)}\n`;
const file = process.argv[2];
if (file === undefined) process.stdout.write(text);
else {
  writeFileSync(file, text);
  console.log(`${file}: ${sbom.components.length} packages`);
}
