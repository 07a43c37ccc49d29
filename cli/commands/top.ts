import type { Command } from 'commander';
import { EXIT } from '../../config/index.js';
import { colorsFor, json, loadSettings, processScreen, serversOf } from '../../runtime/index.js';
import { type LiveModel, LiveScreen, renderPlain } from '../live-view.js';
import { LiveFeed } from '../up/live-feed.js';
import {
  addOutputOption,
  globalOptions,
  type OutputOptions,
  reportNoAnswer,
  seconds,
  untilStopped,
} from './common.js';

interface TopOptions extends OutputOptions {
  readonly for?: number;
  readonly once?: boolean;
}

const DRAW_MILLIS = 500;
const PLAIN_MILLIS = 2000;
const FIRST_ANSWER_MILLIS = 3000;

/** The live view of a running Gleaner. */
export function addCommands(program: Command): void {
  const command = program
    .command('top')
    .description('watch hosts and functions live; without a terminal a line every two seconds')
    .option('--for <seconds>', 'stop after this time', seconds)
    .option('--once', 'print once and stop');
  addOutputOption(command).action(async (options: TopOptions) => {
    const { config } = loadSettings(globalOptions(command));
    const feed = new LiveFeed(config, serversOf(config));
    const screen = new LiveScreen(processScreen, colorsFor(processScreen, process.env));
    const model = (): LiveModel => ({
      ...feed.model(),
      // The agents may run with another configuration than this command.
      manager: null,
      platform: feed.platform,
      upSeconds: null,
      restarts: 0,
      dashboard: null,
      notes: feed.unread,
    });
    const draw = (): void => {
      // A slow reader skips samples.
      if ((processScreen.pending ?? 0) > 0) return;
      const now = model();
      if (options.output === 'json') processScreen.write(`${JSON.stringify(now)}\n`);
      else if (processScreen.isTerminal) screen.draw(now, process.stdout.rows ?? 40);
      else processScreen.write(`${renderPlain(now)}\n`);
    };
    const stopped = untilStopped(options.for);
    try {
      await Promise.race([
        feed.answered,
        stopped,
        new Promise((resolve) => setTimeout(resolve, FIRST_ANSWER_MILLIS)),
      ]);
      process.exitCode = model().hosts.length > 0 ? EXIT.ok : EXIT.failed;
      if (options.once) {
        processScreen.write(
          options.output === 'json' ? json(model()) : `${renderPlain(model())}\n`,
        );
        if (model().hosts.length === 0) reportNoAnswer('hook');
        return;
      }
      draw();
      const live = options.output === 'table' && processScreen.isTerminal;
      const timer = setInterval(draw, live ? DRAW_MILLIS : PLAIN_MILLIS);
      await stopped;
      clearInterval(timer);
      screen.close();
      const hasAnswered = model().hosts.length > 0;
      if (!hasAnswered) reportNoAnswer('hook');
      process.exitCode = hasAnswered ? EXIT.ok : EXIT.failed;
    } finally {
      screen.close();
      await feed.close();
    }
  });
}
