#!/usr/bin/env node
import { asksVersion, commandAsked, QUERIES } from './command-line.js';

const args = process.argv.slice(2);
const asked = commandAsked(args);
if (asksVersion(args)) {
  const { versionText } = await import('../config/version.js');
  process.stdout.write(`${versionText()}\n`);
} else {
  // Coverage counts the lines of modules, which a bundle does not have.
  const mayBundle = asked !== undefined && !process.env.NODE_V8_COVERAGE;
  const loading =
    mayBundle && asked === 'hook'
      ? import('./hook.js')
      : mayBundle && Object.hasOwn(QUERIES, asked)
        ? import('./query.js')
        : import('./run.js');
  await (await loading).run(asked);
}
