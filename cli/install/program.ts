import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the running program, which holds package.json. */
export const programFolder = (): string =>
  resolve(dirname(fileURLToPath(import.meta.url)), '../../..');

interface LockEntry {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

/** Folders of the required packages, without development and optional ones. */
function packagesOf(folder: string): string[] {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, LockEntry>>;
  };
  return Object.entries(packages)
    .filter(
      ([path, { dev, optional, devOptional }]) => path !== '' && !dev && !optional && !devOptional,
    )
    .map(([path]) => path);
}

/** Installed parts of the program's folder: published files and required packages. */
function contentsOf(folder: string): string[] {
  const { files } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    files: string[];
  };
  const published = files.flatMap((path) => (path.includes('*') ? matching(folder, path) : [path]));
  const all = [...published, 'package.json', 'package-lock.json', ...packagesOf(folder)];
  return all.filter((path) => existsSync(join(folder, path)));
}

/** Expands a pattern with a star in the file's name, such as `web/*.css`. */
function matching(folder: string, pattern: string): string[] {
  const [before = '', after = ''] = basename(pattern).split('*');
  const within = dirname(pattern);
  if (!existsSync(join(folder, within))) return [];
  return readdirSync(join(folder, within))
    .filter((name) => name.startsWith(before) && name.endsWith(after))
    .map((name) => join(within, name));
}

const TESTS = [join('dist', 'test'), join('dist', 'bench')];
const isInstalled = (folder: string, path: string): boolean =>
  !TESTS.some((test) => path === join(folder, test) || path.startsWith(join(folder, test) + sep)) &&
  !path.endsWith('.map');

function* filesOf(path: string): Generator<string> {
  const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  for (const entry of entries) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) yield* filesOf(child);
    else yield child;
  }
}

/** `0.1.0-3f2a9c1b`, so that two builds of one version are two releases. */
function releaseName(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    version: string;
  };
  const hash = createHash('sha256').update(readFileSync(join(folder, 'package-lock.json')));
  for (const file of filesOf(join(folder, 'dist')))
    if (isInstalled(folder, file))
      hash.update(file.slice(folder.length)).update(readFileSync(file));
  return `${version}-${hash.digest('hex').slice(0, 8)}`;
}

/**
 * Copies the program below `releases` atomically and returns the release's name. A program that is
 * there already, unpacked from an archive, is used in place.
 */
export function placeProgram(from: string, releases: string): { name: string; placed: boolean } {
  if (dirname(from) === resolve(releases)) return { name: basename(from), placed: false };
  const name = releaseName(from);
  const to = join(releases, name);
  if (existsSync(to)) return { name, placed: false };
  const making = join(releases, `.making-${process.pid}`);
  mkdirSync(making, { recursive: true });
  try {
    for (const path of contentsOf(from))
      cpSync(join(from, path), join(making, path), {
        recursive: true,
        dereference: true,
        filter: (source) =>
          isInstalled(from, source) &&
          !(path.startsWith('node_modules') && nested(from, path, source)),
      });
    chmodSync(join(making, 'dist/cli/main.js'), 0o755);
    openToServices(making);
    renameSync(making, to);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return { name, placed: true };
}

/** Most services are not root: a umask of 077 in the build must not hide the program from them. */
function openToServices(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) openToServices(path);
    else chmodSync(path, statSync(path).mode & 0o100 ? 0o755 : 0o644);
  }
  chmodSync(folder, 0o755);
}

/** Nested node_modules have their own entries in the lock file. */
const nested = (from: string, path: string, source: string): boolean =>
  source.startsWith(join(from, path, 'node_modules'));
