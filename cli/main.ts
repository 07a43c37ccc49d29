#!/usr/bin/env node
import { asksVersion, commandAsked, QUERIES } from './command-line.js';

const args = process.argv.slice(2);
const asked = commandAsked(args);
if (asksVersion(args)) {
  const { versionText } = await import('../config/version.js');
  process.stdout.write(`${versionText()}\n`);
} else {
  // Coverage counts the lines of modules, which a bundle does not have.
  const isBundled =
    asked !== undefined && Object.hasOwn(QUERIES, asked) && !process.env.NODE_V8_COVERAGE;
  const { run } = isBundled ? await import('./query.js') : await import('./run.js');
  await run(asked);
}
