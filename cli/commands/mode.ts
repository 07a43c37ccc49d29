import { Argument, type Command } from 'commander';
import { type Broker, type StoredModes, storedModes } from '../../broker/index.js';
import { MODE_GLOBAL } from '../../broker/messages/index.js';
import { killReasonLines, restrictedHosts } from '../../broker/services/index.js';
import { EXIT, type Mode, messageOf, modes, reportProblem } from '../../config/index.js';
import {
  type HookAnswer,
  inspectHooks,
  left,
  loadSettings,
  plainText,
  table,
  withBroker,
} from '../../runtime/index.js';
import {
  changeEverywhere,
  inForceText,
  modeOutcomeJson,
  reportModeOutcome,
  storeForOption,
} from '../mode-change.js';
import {
  addOutputOption,
  author,
  checkFunctionName,
  globalOptions,
  noteKilled,
  noteUnseen,
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

/** Reports hosts where something keeps the function from its new mode. @returns false: some */
async function isInForce(broker: Broker, fn: string, mode: Mode): Promise<boolean> {
  const restricted = await restrictedHosts(broker, fn, mode);
  for (const { host, mode: inForce, by } of restricted)
    reportProblem(
      `not in force on ${plainText(host)}: mode ${inForce} by ${plainText(by)}`,
      'the mode is stored and applies without that restriction (docs/functions.md)',
    );
  return restricted.length === 0;
}

/** `name`: of a function, or `global`. */
function noteUnreadableMode(name: string): void {
  if (name === MODE_GLOBAL)
    reportProblem(
      'the stored mode of all functions cannot be read: the kill switch holds',
      'set it again: `gleaner restore --hold --all`, or release it with --release --all',
    );
  else
    reportProblem(
      `the stored mode of ${plainText(name)} cannot be read: it is paused`,
      `set it again: \`gleaner pause ${plainText(name)}\`, or \`gleaner resume\``,
    );
}

/** A line for each source of a kill switch whose author or note is known. */
const killReasonText = (hooks: readonly HookAnswer[]): string =>
  hooks
    .flatMap(({ host }) => killReasonLines(host).map((line) => `${host.host}: ${line}`))
    .map((line) => `${plainText(line)}\n`)
    .join('');

interface StoredMode {
  readonly mode: Mode | null;
  /** Author and reason of the newest change. */
  readonly author: string;
  readonly reason: string;
}
interface StoredGlobal extends StoredMode {
  readonly kill: boolean;
}
interface StoredOfFunction extends StoredMode {
  readonly name: string;
  readonly paused: boolean;
}

interface Stored {
  readonly global: StoredGlobal | null;
  readonly functions: readonly StoredOfFunction[];
}

const storedOf = ({ global, functions }: StoredModes): Stored => ({
  global: global && {
    mode: global.mode ?? null,
    kill: global.kill,
    author: global.author,
    reason: global.reason,
  },
  functions: [...functions]
    .map(([name, { mode = null, paused, author, reason }]) => ({
      name,
      mode,
      paused,
      author,
      reason,
    }))
    .sort((a, b) => a.name.localeCompare(b.name)),
});

/** Stored modes, pauses and kill switch, after an empty line; nothing if there are none. */
function storedTable({ global, functions }: Stored): string {
  const rows = [
    ...(global === null ? [] : [{ ...global, name: 'all functions', paused: false }]),
    ...functions.map((one) => ({ ...one, kill: false })),
  ];
  if (rows.length === 0) return '';
  type Row = (typeof rows)[number];
  const shown = ({ mode, paused, kill }: Row): string =>
    [mode ?? [], paused ? 'paused' : [], kill ? 'kill switch' : []].flat().join(', ');
  return `\n${table(rows, [
    left('function', ({ name }) => name),
    left('stored', shown),
    left('by', ({ author }) => author),
    left('reason', ({ reason }) => reason),
  ])}`;
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
    const asked = await withBroker(config, async (broker) => {
      const who = { author: author(), reason: options.reason };
      const change = { mode: mode === 'default' ? null : (mode as Mode) };
      const outcome =
        mode === undefined
          ? null
          : await changeEverywhere(broker, fn, change, who, options.storeFor);
      const isRestricted =
        fn !== null && change.mode != null && !(await isInForce(broker, fn, change.mode));
      const stored =
        mode === undefined && fn === null
          ? await storedModes(broker).catch((error: unknown) => messageOf(error))
          : null;
      // The hosts alone, or the one function on each.
      const request = fn === null ? { limit: 0 } : { function: fn };
      return {
        outcome,
        stored,
        isRestricted,
        ...(await inspectHooks(broker, { ...request, containers: 0 })),
      };
    });
    const { outcome, stored, isRestricted, hooks, unread, missing } = asked;
    const rows = hooks.map(({ host, functions: [one] }) => ({
      host: host.host,
      mode: host.mode,
      killed: host.killed,
      // Null: the hook has seen no activation of it.
      ...(fn !== null && { functionMode: one?.mode ?? null, paused: one?.paused ?? null }),
    }));
    // Also of functions that no hook has seen, whose names may be misspelled.
    const read = typeof stored === 'string' ? null : stored;
    const shown = read && storedOf(read);
    const value = {
      set: mode ?? null,
      function: fn,
      hosts: rows,
      ...(read && { ...shown, unreadable: read.unreadable }),
    };
    print(options.output, { ...value, ...(outcome && modeOutcomeJson(outcome)) }, () =>
      mode === undefined
        ? table(rows, [
            left('host', (row) => row.host),
            left('mode', (row) => {
              const shown = row.functionMode === undefined ? row.mode : (row.functionMode ?? '-');
              if (row.killed) return `${shown} (stopped by the kill switch)`;
              return row.paused ? `${shown} (paused)` : shown;
            }),
          ]) +
          killReasonText(hooks) +
          (shown === null ? '' : storedTable(shown))
        : `${fn ?? 'all functions'}: ${mode}${outcome === null ? '' : inForceText(outcome)}\n`,
    );
    if (mode !== undefined && fn !== null) noteUnseen(fn, hooks);
    if (mode !== undefined) noteKilled(hooks);
    if (typeof stored === 'string')
      reportProblem(
        `cannot read stored modes and pauses of functions: ${stored}`,
        'read them as an operator, with JetStream: `gleaner status` shows its state',
      );
    for (const name of read?.unreadable ?? []) noteUnreadableMode(name);
    warnUnreadable(unread);
    if (outcome === null) {
      warnMissingHooks(missing);
      if (rows.length + unread.length === 0) reportNoAnswer('hook');
    }
    const done = outcome === null ? rows.length > 0 : reportModeOutcome(outcome);
    process.exitCode = done && !isRestricted ? EXIT.ok : EXIT.failed;
  });
}
