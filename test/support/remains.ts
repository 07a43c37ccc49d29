import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Layout } from '../../cli/install/index.js';

/** Paths of Gleaner below a root; empty after `remove`. */
export function remainsOf(layout: Layout): string[] {
  const { at } = layout;
  const fixed = [layout.home, layout.command, layout.state, layout.configFolder].filter((path) =>
    existsSync(at(path)),
  );
  const units = existsSync(at(layout.units)) ? readdirSync(at(layout.units)) : [];
  return [
    ...fixed,
    ...units.filter((name) => name.startsWith('gleaner-')).map((name) => join(layout.units, name)),
  ];
}
