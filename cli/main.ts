#!/usr/bin/env node
import { CommanderError } from 'commander';
import { EXIT, reportError } from '../config/index.js';
import { commandAsked } from './bare-program.js';
import { gleanerProgram } from './program.js';

// A reader that has seen enough (`gleaner functions | head`) is not an error. `gleaner up` stops in
// order instead.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (process.stdout.listenerCount('error') > 1) return;
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  throw error;
});

try {
  const program = await gleanerProgram(commandAsked(process.argv.slice(2)));
  await program.parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  else process.exitCode = reportError(error, (text) => process.stderr.write(text));
  // The channel to whoever started this (`npm start`) would keep both of us.
  if (process.connected) process.disconnect();
}
