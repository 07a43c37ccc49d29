import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import test from 'ava';

type Packages = Readonly<Record<string, string>>;
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  dependencies: Packages;
  optionalDependencies: Packages;
  devDependencies: Packages;
};

test('docs/dependencies.md gives a reason for each runtime dependency, and lists no other', (t) => {
  const listed = [
    ...readFileSync('docs/dependencies.md', 'utf8').matchAll(/^- `([^`]+)`: (.+)$/gm),
  ];
  const runtime = { ...manifest.dependencies, ...manifest.optionalDependencies };
  t.deepEqual(listed.map((row) => row[1]).sort(), Object.keys(runtime).sort());
  for (const [, name, reason] of listed) t.true(reason!.length > 20, name);
});

test('every version is exact, and the lock file names no registry', (t) => {
  const all = {
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
    ...manifest.devDependencies,
  };
  for (const [name, version] of Object.entries(all)) t.regex(version, /^\d+\.\d+\.\d+$/, name);
  t.notRegex(readFileSync('package-lock.json', 'utf8'), /"resolved": "http/);
});

/** Runs a script with an `npm` that prints what it is told. */
function withNpm(script: string, prints: string, code = 0): { status: number | null; out: string } {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-npm-'));
  writeFileSync(join(folder, 'answer'), prints);
  writeFileSync(join(folder, 'npm'), `#!/bin/sh\ncat "$(dirname "$0")/answer"\nexit ${code}\n`);
  chmodSync(join(folder, 'npm'), 0o755);
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` };
  const { status, stdout } = spawnSync(process.execPath, [script], { encoding: 'utf8', env });
  rmSync(folder, { recursive: true });
  return { status, out: stdout };
}

test('the audit fails from severity high on, and says if the registry does not answer', (t) => {
  const script = 'scripts/audit.mjs';
  const found = (severity: string): string =>
    JSON.stringify({
      metadata: { vulnerabilities: { [severity]: 1, total: 1 } },
      vulnerabilities: { leftpad: { severity, range: '<2.0.0', fixAvailable: true } },
    });
  const high = withNpm(script, found('high'), 1);
  t.is(high.status, 1);
  t.regex(high.out, /^high: leftpad <2\.0\.0, a fix is available\naudited: 1 known/);
  t.is(withNpm(script, found('low'), 1).status, 0);
  const silent = withNpm(script, JSON.stringify({ statusCode: 405, error: {} }), 1);
  t.is(silent.status, 0);
  t.regex(silent.out, /NOT AUDITED: .*status 405/);
  t.regex(withNpm(script, 'no JSON', 1).out, /NOT AUDITED/);
});

test('the bill of materials has exactly the runtime packages with version and checksum', (t) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/sbom.mjs'], {
    encoding: 'utf8',
  });
  t.is(status, 0, stderr);
  const sbom = JSON.parse(stdout) as {
    bomFormat: string;
    components: { name: string; version: string; hashes?: unknown[] }[];
  };
  t.is(sbom.bomFormat, 'CycloneDX');
  const named = new Set(sbom.components.map(({ name, version }) => `${name} ${version}`));
  const names = new Set(sbom.components.map(({ name }) => name));
  for (const [name, version] of Object.entries(manifest.dependencies))
    t.true(named.has(`${name} ${version}`), name);
  for (const name of ['ava', 'typescript', '@biomejs/biome']) t.false(names.has(name), name);
  // Every package of the lock file that is not for development alone, once for each version.
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { version: string; dev?: boolean }>;
  };
  for (const [path, { version, dev }] of Object.entries(packages))
    if (path !== '' && !dev)
      t.true(named.has(`${path.replace(/.*node_modules\//, '')} ${version}`), path);
  for (const { name, hashes } of sbom.components) t.truthy(hashes?.length, name);
});
