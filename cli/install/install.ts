import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { inboxPrefixOf } from '../../broker/index.js';
import { configExample, errorClass, UsageError } from '../../config/index.js';
import { foreignWriter } from '../../runtime/index.js';
import type { ConfigCheck } from './config-check.js';
import { type Layout, roleOf, type ServicePart, unitOf } from './layout.js';
import { hashOf, type Manifest, readManifest, requireManifest, writeManifest } from './manifest.js';
import { placeProgram } from './program.js';
import type { ServiceManager } from './service-manager.js';

export interface InstallOptions {
  readonly layout: Layout;
  /** Folder of the program to install. */
  readonly from: string;
  /** Added to the installed ones. */
  readonly parts: readonly ServicePart[];
  /** Path of node in the units. */
  readonly node: string;
  /** Null: files only. */
  readonly services: ServiceManager | null;
  /** Of the release that is to be the current one; null: for an image, which has its own file. */
  readonly checkConfig: ConfigCheck | null;
}

export interface Installed {
  readonly release: string;
  /** Created or changed paths below the root; empty if everything was up to date. */
  readonly changed: readonly string[];
  readonly restarted: readonly string[];
}

/** Hidden from the services by ProtectHome=. */
const HOMES = /^\/(home|root|run\/user)\//;

/** Why root's services cannot or must not run a node; null: they can. */
export function nodeProblem(node: string): string | null {
  for (const path of [resolve(node), existsSync(node) ? realpathSync(node) : node])
    if (HOMES.test(path)) return `${path} is in a home folder, which services do not see`;
  if (!existsSync(node)) return 'it does not exist';
  // On some systems a group for local software may write to /usr/local.
  const writer = foreignWriter(node, { groups: true });
  return writer === null ? null : `${writer}, so other users than root could replace it`;
}

/** Path of node in the shipped units. */
const NODE_IN_UNITS = '/usr/bin/node';

/** Replaces a symbolic link atomically. @returns whether it changed */
function pointLink(link: string, to: string): boolean {
  try {
    if (readlinkSync(link) === to) return false;
  } catch {
    // Not there yet.
  }
  mkdirSync(dirname(link), { recursive: true });
  const fresh = `${link}.new`;
  rmSync(fresh, { force: true });
  symlinkSync(to, fresh);
  renameSync(fresh, link);
  return true;
}

/** Path of the seed that `gleaner nats-config` wrote for a part of this host; null: none. */
function seedOf(layout: Layout, part: ServicePart): string | null {
  const folder = layout.at(layout.nats);
  if (!existsSync(folder)) return null;
  const found = readdirSync(folder).filter((name) =>
    new RegExp(`^${roleOf(part)}(-[\\w-]+)?\\.nk$`).test(name),
  );
  if (found.length > 1)
    throw new UsageError(`${layout.nats} has several seeds for ${part}: ${found.join(', ')}`, {
      hint: 'keep only the seed of this host there',
    });
  return found[0] === undefined ? null : join(layout.nats, found[0]);
}

const SEED_VARIABLE = 'GLEANER_NATS_NKEYSEEDFILE';

/** The hook reads root's seed file; the other services, which do not run as root, get a copy. */
function dropIn(part: ServicePart, seed: string): string {
  const prefix = `GLEANER_NATS_INBOXPREFIX=${inboxPrefixOf(roleOf(part))}`;
  const environment = (path: string): string => `Environment=${SEED_VARIABLE}=${path} ${prefix}\n`;
  const lines =
    part === 'hook'
      ? environment(seed)
      : `LoadCredential=nats.nk:${seed}\n${environment('%d/nats.nk')}`;
  return `# Written by \`gleaner install\`, since ${seed} exists.\n[Service]\n${lines}`;
}

/** Files that an installation writes, by path below the root. */
function expectedFiles(
  layout: Layout,
  release: string,
  parts: readonly ServicePart[],
  node: string,
): Map<string, string> {
  const files = new Map<string, string>();
  for (const part of parts) {
    const shipped = layout.at(join(layout.releases, release, 'deploy/systemd', unitOf(part)));
    files.set(
      join(layout.units, unitOf(part)),
      readFileSync(shipped, 'utf8').replaceAll(NODE_IN_UNITS, node),
    );
    const seed = seedOf(layout, part);
    if (seed !== null)
      files.set(join(layout.units, `${unitOf(part)}.d`, 'nats.conf'), dropIn(part, seed));
  }
  return files;
}

/**
 * Installs or upgrades Gleaner. A second run changes nothing. An example configuration is written
 * only if there is none. @throws `GLN_USAGE` for a node that the services cannot use,
 * `GLN_RELEASE_CONFIG` if the release refuses the configuration that is there
 */
export function install(options: InstallOptions): Installed {
  const { layout, from, parts, node } = options;
  // Below another root its paths are not those of this host.
  const problem = layout.root === '/' ? nodeProblem(node) : null;
  if (problem !== null)
    throw new UsageError(`services cannot use the node ${node}: ${problem}`, {
      hint: 'install Node for all users, and name it: gleaner install --node /usr/bin/node',
    });
  const before = readManifest(layout);
  const { name: release, placed } = placeProgram(from, layout.at(layout.releases));
  const wanted = { release, parts: [...new Set([...(before?.parts ?? []), ...parts])], node };
  return finish(options, before, wanted, placed ? [join(layout.releases, release)] : []);
}

class NoPreviousReleaseError extends errorClass('GLN_NO_PREVIOUS_RELEASE') {}

/** An upgrade or rollback would leave services that do not start. */
class ReleaseConfigError extends errorClass('GLN_RELEASE_CONFIG') {}

type Host = Pick<InstallOptions, 'layout' | 'services' | 'checkConfig'>;

/** Returns to the previous release. @throws `GLN_NO_PREVIOUS_RELEASE`, `GLN_RELEASE_CONFIG` */
export function rollback(host: Host): Installed {
  const { layout } = host;
  const before = requireManifest(layout);
  if (before.previous === null || !existsSync(layout.at(join(layout.releases, before.previous))))
    throw new NoPreviousReleaseError();
  return finish(host, before, { ...before, release: before.previous }, []);
}

function finish(
  { layout, services, checkConfig }: Host,
  before: Manifest | null,
  { release, parts, node }: Pick<Manifest, 'release' | 'parts' | 'node'>,
  changed: string[],
): Installed {
  const { at } = layout;
  if (checkConfig !== null && before?.release !== release && existsSync(at(layout.config))) {
    const program = at(join(layout.releases, release));
    // Any seed will do: the parts' drop-ins name one each, instead of the file's.
    const seed = parts.map((part) => seedOf(layout, part)).find((one) => one !== null);
    const variables: Record<string, string> = seed ? { [SEED_VARIABLE]: at(seed) } : {};
    const problem = checkConfig(node, program, at(layout.config), variables);
    if (problem !== null) throw new ReleaseConfigError(release, layout.config, problem);
  }
  const switched = pointLink(at(layout.current), join('releases', release));
  if (switched) changed.push(layout.current);
  if (pointLink(at(layout.command), join(layout.current, 'dist/cli/main.js')))
    changed.push(layout.command);
  if (!existsSync(at(layout.config))) {
    mkdirSync(dirname(at(layout.config)), { recursive: true });
    writeFileSync(at(layout.config), configExample());
    changed.push(layout.config);
  }
  const files = expectedFiles(layout, release, parts, node);
  const units = new Set<string>();
  const touched = (path: string): void => {
    changed.push(path);
    for (const part of parts) if (path.includes(unitOf(part))) units.add(unitOf(part));
  };
  for (const [path, text] of files) {
    if (existsSync(at(path)) && readFileSync(at(path), 'utf8') === text) continue;
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
    touched(path);
  }
  for (const path of Object.keys(before?.files ?? {})) {
    if (files.has(path)) continue;
    rmSync(at(path), { force: true });
    touched(path);
  }
  const previous =
    before === null || before.release === release ? (before?.previous ?? null) : before.release;
  const hashes = Object.fromEntries([...files].map(([path, text]) => [path, hashOf(text)]));
  const manifest: Manifest = { release, previous, parts, node, files: hashes };
  const all = parts.map(unitOf);
  const hasOldServices =
    switched || before?.release !== release || before.restartPending !== undefined;
  const restarted = all.filter(
    (unit) => hasOldServices || units.has(unit) || services?.isActive(unit) === false,
  );
  if (services !== null && restarted.length > 0) {
    // What fails below is repeated by the next run.
    writeManifest(layout, { ...manifest, restartPending: true });
    services.reload();
    services.enable(all);
    services.restart(restarted);
    writeManifest(layout, manifest);
  } else if (JSON.stringify(manifest) !== JSON.stringify(before)) writeManifest(layout, manifest);
  prune(layout, manifest);
  return { release, changed, restarted: services === null ? [] : restarted };
}

/** Keeps the current release and the one to roll back to. */
function prune(layout: Layout, { release, previous }: Manifest): void {
  const folder = layout.at(layout.releases);
  for (const name of readdirSync(folder))
    if (name !== release && name !== previous)
      rmSync(join(folder, name), { recursive: true, force: true });
}
