/**
 * An archive of what a host needs, packages included, for hosts that reach no registry: `node
 * scripts/package.mjs [folder]` writes `gleaner-<release>.tar.gz`, as the Ansible role and the
 * container recipe take it. Needs a build.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { placeProgram, programFolder } from '../dist/cli/install/program.js';

const [, , target = '.'] = process.argv;
if (target.startsWith('-')) {
  console.error('usage: node scripts/package.mjs [folder]');
  process.exit(2);
}
const folder = resolve(target);
const releases = mkdtempSync(join(tmpdir(), 'gleaner-package-'));
try {
  const { name } = placeProgram(programFolder(), releases);
  mkdirSync(folder, { recursive: true });
  const archive = join(folder, `gleaner-${name}.tar.gz`);
  const owner = ['--owner=0', '--group=0', '--numeric-owner'];
  const { status, stderr } = spawnSync('tar', ['-czf', archive, ...owner, '-C', releases, name], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`tar: ${stderr}`);
  console.log(archive);
} finally {
  rmSync(releases, { recursive: true, force: true });
}
