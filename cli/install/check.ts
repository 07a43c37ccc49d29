import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig, messageOf } from '../../config/index.js';
import { checkCredentials } from '../../runtime/index.js';
import { nodeProblem } from './install.js';
import { type Layout, unitOf } from './layout.js';
import { hashOf, type Manifest, requireManifest } from './manifest.js';
import type { ServiceManager } from './service-manager.js';

export interface CheckRow {
  readonly check: string;
  readonly ok: boolean;
  readonly found: string;
}

/** Compares a host with its manifest. @throws `GLN_NOT_INSTALLED` */
export function checkInstallation(layout: Layout, services: ServiceManager | null): CheckRow[] {
  const manifest = requireManifest(layout);
  return [
    program(layout, manifest),
    nodeRow(layout, manifest),
    ...Object.entries(manifest.files).map(([path, hash]) => file(layout, path, hash)),
    configuration(layout),
    ...(services === null ? [] : manifest.parts.map((part) => service(services, unitOf(part)))),
  ];
}

function nodeRow({ root }: Layout, { node }: Manifest): CheckRow {
  const problem = root === '/' ? nodeProblem(node) : existsSync(node) ? null : 'it does not exist';
  return {
    check: 'node',
    ok: problem === null,
    found: problem === null ? node : `${node}: ${problem}`,
  };
}

function program(layout: Layout, { release }: Manifest): CheckRow {
  const expected = layout.at(join(layout.releases, release));
  const check = 'program';
  try {
    const ok = realpathSync(layout.at(layout.current)) === realpathSync(expected);
    return { check, ok, found: ok ? release : `${layout.current} is not ${release}` };
  } catch (error) {
    return { check, ok: false, found: messageOf(error) };
  }
}

function file(layout: Layout, path: string, hash: string): CheckRow {
  if (!existsSync(layout.at(path))) return { check: path, ok: false, found: 'missing' };
  const ok = hashOf(readFileSync(layout.at(path))) === hash;
  return { check: path, ok, found: ok ? 'as installed' : 'changed since' };
}

function configuration(layout: Layout): CheckRow {
  const check = layout.config;
  try {
    const path = layout.at(layout.config);
    const { config } = loadConfig({ path, readFile: (name) => readFileSync(name, 'utf8') });
    const [problem] = checkCredentials(config.nats);
    return {
      check,
      ok: problem === undefined,
      found: problem ? `${problem.path}: ${problem.message}` : 'valid',
    };
  } catch (error) {
    return { check, ok: false, found: messageOf(error).replaceAll('\n', ' ') };
  }
}

function service(services: ServiceManager, unit: string): CheckRow {
  const ok = services.isActive(unit);
  return { check: unit, ok, found: ok ? 'active' : 'not active' };
}
