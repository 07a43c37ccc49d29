import { Argument, type Command } from 'commander';
import { EXIT, type Mode, modes } from '../../config/index.js';
import { inspectHooks, left, loadSettings, table, withBroker } from '../../runtime/index.js';
import {
  changeEverywhere,
  modeOutcomeJson,
  reportModeOutcome,
  storeForOption,
} from '../mode-change.js';
import {
  addOutputOption,
  author,
  checkFunctionName,
  globalOptions,
  type OutputOptions,
  print,
  reportNoAnswer,
  warnMissingHooks,
  warnUnreadable,
} from './common.js';

interface ModeOptions extends OutputOptions {
  readonly function?: string;
  readonly reason: string;
  readonly storeFor: number;
}

export function addCommands(program: Command): void {
  const command = program
    .command('mode')
    .description('show the mode, or set it for all functions or one (`default`: as configured)')
    .addArgument(new Argument('[mode]', 'new mode').choices([...modes, 'default']))
    .option('--function <name>', 'only this function, as /namespace/package/action')
    .option('--reason <text>', 'reason, for the audit log', '')
    .addOption(storeForOption());
  addOutputOption(command).action(async (mode: string | undefined, options: ModeOptions) => {
    checkFunctionName(options.function);
    const { config } = loadSettings(globalOptions(command));
    const fn = options.function ?? null;
    const { outcome, hooks, unread, missing } = await withBroker(config, async (broker) => {
      const who = { author: author(), reason: options.reason };
      const change = { mode: mode === 'default' ? null : (mode as Mode) };
      const outcome =
        mode === undefined
          ? null
          : await changeEverywhere(broker, fn, change, who, options.storeFor);
      // The hosts alone, or the one function on each.
      const request = fn === null ? { limit: 0 } : { function: fn };
      return { outcome, ...(await inspectHooks(broker, { ...request, containers: 0 })) };
    });
    const rows = hooks.map(({ host, functions: [one] }) => ({
      host: host.host,
      mode: host.mode,
      killed: host.killed,
      // Null: the hook has seen no activation of it.
      ...(fn !== null && { functionMode: one?.mode ?? null, paused: one?.paused ?? null }),
    }));
    const value = { set: mode ?? null, function: fn, hosts: rows };
    print(options.output, { ...value, ...(outcome && modeOutcomeJson(outcome)) }, () =>
      mode === undefined
        ? table(rows, [
            left('host', (row) => row.host),
            left('mode', (row) => {
              const shown = row.functionMode === undefined ? row.mode : (row.functionMode ?? '-');
              if (row.killed) return `${shown} (stopped by the kill switch)`;
              return row.paused ? `${shown} (paused)` : shown;
            }),
          ])
        : `${fn ?? 'all functions'}: ${mode}\n`,
    );
    warnMissingHooks(missing);
    warnUnreadable(unread);
    if (rows.length + unread.length === 0) reportNoAnswer('hook');
    const done = outcome === null ? rows.length > 0 : reportModeOutcome(outcome);
    process.exitCode = done ? EXIT.ok : EXIT.failed;
  });
}
