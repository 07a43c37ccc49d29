import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { type Config, EXIT, modes, reportProblem, systemClock } from '../../config/index.js';
import {
  boundedScreen,
  checkConfigWriters,
  colorsFor,
  configPath,
  flagsOf,
  loadSettings,
  processFaults,
  processScreen,
  shortList,
  statePaths,
} from '../../runtime/index.js';
import { HOOK_ENDED, restoreHost } from '../../runtime/wiring/index.js';
import { type LiveModel, LiveScreen, renderPlain } from '../live-view.js';
import { announcement } from '../up/announcement.js';
import { LiveFeed } from '../up/live-feed.js';
import { UpSession } from '../up/session.js';
import { globalOptions, seconds } from './common.js';

interface UpOptions {
  readonly platform?: string;
  readonly workload?: string;
  readonly speed?: string;
  readonly mode?: string;
  readonly for?: number;
  readonly plain?: boolean;
}

const DRAW_MILLIS = 500;
const PLAIN_MILLIS = 5000;
/** Longest wait for a reader of the last lines. */
const FLUSH_MILLIS = 1000;

export function addCommands(program: Command): void {
  const command = program
    .command('up')
    .description(
      'run every part on this machine with a live view; Ctrl-C restores all limits and stops',
    )
    .addOption(
      new Option('--platform <name>', 'source of activations').choices([
        'simulated',
        'docker',
        'host',
      ]),
    )
    .option('--workload <name>', 'workload to play, by name or path (simulated, docker)')
    .option('--speed <factor>', 'multiple of real time (simulated)')
    .addOption(new Option('--mode <mode>', 'mode for all functions').choices([...modes]))
    .option('--for <seconds>', 'stop after this time', seconds)
    .option('--plain', 'a line every few seconds instead of the live view');
  command.action(async (options: UpOptions) => {
    const globals = globalOptions(command);
    const shorthands = {
      platform: options.platform,
      mode: options.mode,
      'simulator.workload':
        options.workload && existsSync(options.workload)
          ? resolve(options.workload)
          : options.workload,
      'simulator.speed': options.speed,
    };
    const { config } = loadSettings(globals, shorthands);
    const file = configPath(globals);
    await up(config, {
      path: file === undefined ? undefined : resolve(file),
      flags: flagsOf(globals, shorthands),
      live: processScreen.isTerminal && !options.plain,
      ...(options.for === undefined ? {} : { seconds: options.for }),
    });
  });
}

interface Run {
  readonly path: string | undefined;
  readonly flags: Readonly<Record<string, unknown>>;
  readonly live: boolean;
  readonly seconds?: number;
}

/** The supervisor writes errors to the hook's log. */
async function restoreAfterHook(config: Config): Promise<void> {
  const by = { who: 'restore', why: HOOK_ENDED };
  const { notRestored, auditError } = await restoreHost(config, by);
  const problems = [
    ...(notRestored.length > 0 ? [`user limits not restored: ${shortList(notRestored)}`] : []),
    ...(auditError === null ? [] : [`restored limits are not in the audit log: ${auditError}`]),
  ];
  if (problems.length > 0) throw new Error(problems.join('; '));
}

async function up(config: Config, run: Run): Promise<void> {
  const out = boundedScreen();
  const colors = colorsFor(out, process.env);
  const screen = new LiveScreen(out, colors);
  const say = (text: string): void => {
    if (!screen.isOpen) out.write(`${text}\n`);
  };
  checkConfigWriters(run.path);
  const session = new UpSession({
    config,
    path: run.path,
    flags: run.flags,
    paths: statePaths(config),
    restore: () => restoreAfterHook(config),
    note: say,
  });
  const startedAt = systemClock.monotonic();
  // A Ctrl-C during the start stops the started parts.
  const asked = stopAsked(session, run.seconds);
  let failed = false;
  const fault = new Promise<void>((resolve) =>
    processFaults.install(() => {
      failed = true;
      resolve();
    }),
  );
  const ended = Promise.race([asked, fault]);
  let feed: LiveFeed | null = null;
  let summary = '';
  for (const line of announcement(config)) say(line);
  say('starting every part …');
  try {
    const started = session.start();
    await Promise.race([started, ended]);
    // A stop during the start ends the children that it waits for, so its error does not matter.
    started.catch(() => undefined);
    if (session.dashboard !== null) say(`dashboard ${session.dashboard}`);
    if (session.servers.length > 0) feed = new LiveFeed(config, session.servers);
    const model = (): LiveModel => ({
      ...feed!.model(),
      manager: config.agents.manager,
      ...session.frame(startedAt, systemClock.monotonic()),
    });
    const draw = setInterval(
      () => {
        if (feed === null) return;
        if (run.live) screen.draw(model(), process.stdout.rows ?? 40);
        else say(renderPlain(model()));
      },
      run.live ? DRAW_MILLIS : PLAIN_MILLIS,
    );
    await ended;
    clearInterval(draw);
    if (feed) summary = `${renderPlain(model())}\n`;
  } finally {
    screen.close();
    out.write(summary);
    await feed?.close();
    out.write('restoring every limit and stopping …\n');
    const problems = await session.stop();
    if (problems.length === 0) out.write('stopped; all user limits are restored\n');
    else failed = true;
    for (const problem of problems)
      reportProblem(`stopped, but ${problem}`, 'repair that and run `gleaner restore --local`');
  }
  // An open channel would keep this process alive.
  if (process.connected) process.disconnect();
  await out.flush(FLUSH_MILLIS);
  process.exit(failed ? EXIT.failed : EXIT.ok);
}

/** Resolves on a signal, a lost parent or reader, or when the time is over. */
function stopAsked(session: UpSession, seconds: number | undefined): Promise<void> {
  return new Promise((resolve) => {
    process.on('SIGINT', () => resolve());
    process.on('SIGTERM', () => resolve());
    // The parent has ended.
    process.on('disconnect', () => resolve());
    // The reader has ended.
    process.stdout.on('error', () => resolve());
    // With a terminal SIGHUP means that it was closed, otherwise to reload the configuration.
    process.on('SIGHUP', () => (process.stdin.isTTY ? resolve() : session.signal('SIGHUP')));
    process.on('SIGUSR2', () => session.signal('SIGUSR2'));
    if (seconds !== undefined) setTimeout(resolve, seconds * 1000).unref();
  });
}
