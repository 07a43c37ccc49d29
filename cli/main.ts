#!/usr/bin/env node
import { type Command, CommanderError } from 'commander';
import { commandAsked, programWith } from './bare-program.js';
import { EXIT, reportError } from './exit.js';

// A reader that has seen enough (`gleaner functions | head`) is not an error. `gleaner up` stops in order instead.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (process.stdout.listenerCount('error') > 1) return;
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  throw error;
});

/**
 * systemd runs `restore --local` after a hook that died, and until it is done calls run at limits that nobody guards: it does not wait for
 * the other commands to be loaded.
 */
async function program(): Promise<Command> {
  if (commandAsked(process.argv.slice(2)) === 'restore')
    return programWith([(await import('./commands/restore.js')).addRestore]);
  return (await import('./program.js')).gleanerProgram();
}

try {
  await (await program()).parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  else process.exitCode = reportError(error, (text) => process.stderr.write(text));
  // The channel to whoever started this (`npm start`) would keep both of us.
  if (process.connected) process.disconnect();
}
