#!/usr/bin/env node
import { asksVersion, commandAsked, QUERIES } from './command-line.js';

// Without a listener Node opens its debugger on SIGUSR1, for every local user and with the rights
// of this process. The kill switch's signal, SIGUSR2, is one key away.
process.on('SIGUSR1', () =>
  process.stderr.write('gleaner: SIGUSR1 is ignored; the kill switch is SIGUSR2\n'),
);

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
