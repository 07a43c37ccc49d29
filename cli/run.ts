import { CommanderError } from 'commander';
import { EXIT, reportError } from '../config/index.js';
import { gleanerProgram } from './program.js';

/** Runs the command line of this process; `asked`: the command in it. */
export async function run(asked: string | undefined): Promise<void> {
  // A reader that closes the pipe (`gleaner functions | head`) is not an error. `gleaner up` has
  // its own listener and stops in order.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (process.stdout.listenerCount('error') > 1) return;
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    throw error;
  });

  try {
    const program = await gleanerProgram(asked);
    await program.parseAsync(process.argv);
  } catch (error) {
    if (error instanceof CommanderError)
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    else process.exitCode = reportError(error);
    // An open channel to the parent (`npm start`) would keep both processes alive.
    if (process.connected) process.disconnect();
  }
}
