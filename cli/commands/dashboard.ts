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

export function addCommands(program: Command): void {
  const command = program
    .command('dashboard')
    .description('serve the dashboard for a browser, live from NATS; `gleaner up` includes it')
    .option('--any-port', 'use any free port if the configured one is taken');
  command.action((options: { anyPort?: boolean }) =>
    runAsProcess(async () => {
      const { config } = loadSettings(globalOptions(command));
      const supervised = process.send !== undefined;
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
