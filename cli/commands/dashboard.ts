import type { Command } from 'commander';
import {
  loadSettings,
  makeLogger,
  processFaults,
  processScreen,
  runAsProcess,
} from '../../runtime/index.js';
import { runDashboardPart } from '../../runtime/wiring/index.js';
import { globalOptions } from './common.js';

export function addDashboard(program: Command): void {
  const command = program
    .command('dashboard')
    .description(
      'serve the dashboard for a browser, live from NATS; `gleaner up` does so by itself',
    )
    .option('--any-port', 'any free port where the configured one is taken');
  command.action((options: { anyPort?: boolean }) =>
    runAsProcess(async () => {
      const { config } = loadSettings(globalOptions(command));
      const supervised = process.send !== undefined;
      // Alone at a terminal the address is all there is to say.
      const logger = makeLogger(supervised ? config.log.level : 'warn', 'dashboard');
      processFaults.logTo(logger);
      const running = await runDashboardPart(
        config,
        logger,
        supervised || options.anyPort === true,
      );
      if (!supervised) processScreen.write(`dashboard on ${running.address}\n`);
      return running;
    }),
  );
}
