import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { errorClass, isManagerModule, PACKAGE_PREFIX } from '../../config/index.js';

/** A manager module cannot be used. */
export class ManagerModuleError extends errorClass('GLN_MANAGER_MODULE') {}

/** A package's entry for `import`: the first condition that Node would use. */
function entryOf(exported: unknown): string | undefined {
  if (typeof exported === 'string') return exported;
  if (typeof exported !== 'object' || exported === null) return undefined;
  const conditions = exported as Record<string, unknown>;
  for (const key of ['.', 'node', 'import', 'module-sync', 'default']) {
    const entry = entryOf(conditions[key]);
    if (entry !== undefined) return entry;
  }
  return undefined;
}

/** The package's file, searched in `node_modules` from a folder upwards. */
function packageFile(name: string, from: string): string | undefined {
  for (let at = resolve(from); ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (existsSync(join(folder, 'package.json'))) {
      const { exports, main } = JSON.parse(
        readFileSync(join(folder, 'package.json'), 'utf8'),
      ) as Record<string, unknown>;
      return join(folder, entryOf(exports) ?? entryOf(main) ?? 'index.js');
    }
    if (dirname(at) === at) return undefined;
  }
}

/** A path or `package:NAME`, relative to `folder`. Throws {@link ManagerModuleError}. */
export function managerFile(specifier: string, folder: string): string {
  if (!isManagerModule(specifier))
    throw new ManagerModuleError(specifier, 'it is neither a path nor package:NAME');
  if (specifier.startsWith(PACKAGE_PREFIX)) {
    const name = specifier.slice(PACKAGE_PREFIX.length);
    let file: string | undefined;
    try {
      file = packageFile(name, folder);
    } catch (error) {
      throw new ManagerModuleError(name, 'its package.json cannot be read', error);
    }
    if (file === undefined)
      throw new ManagerModuleError(
        name,
        `no such package in node_modules of ${resolve(folder)} or above`,
      );
    if (!existsSync(file)) throw new ManagerModuleError(file, 'no such file');
    return file;
  }
  const file = resolve(folder, specifier);
  if (!existsSync(file)) throw new ManagerModuleError(file, 'no such file');
  return file;
}
