import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { isFunctionName, services } from '../../broker/index.js';
import {
  errorClass,
  messageOf,
  reportError,
  reportProblem,
  UsageError,
} from '../../config/index.js';
import { killSwitchText, RELEASE_HINT } from '../../rules/index.js';
import {
  type Column,
  type GlobalOptions,
  type HookAnswer,
  json,
  type OutputFormat,
  plainText,
  processScreen,
  table,
} from '../../runtime/index.js';
import { placeText, type RestoreSettings } from '../../runtime/wiring/index.js';

export interface OutputOptions {
  readonly output: OutputFormat;
}

export function addOutputOption(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'table for people, json for programs')
      .choices(['table', 'json'])
      .default('table'),
  );
}

/** `text` as one word for a shell. */
export const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Prints `value` as JSON, or the text. */
export function print(output: OutputFormat, value: unknown, text: () => string): void {
  processScreen.write(output === 'json' ? json(value) : text());
}

/** Prints `value` as JSON, or the rows below headings. */
export function printTable<Row>(
  output: OutputFormat,
  value: unknown,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): void {
  print(output, value, () => table(rows, columns));
}

class OutputFolderError extends errorClass('GLN_OUTPUT_FOLDER') {}

/**
 * Makes the folder of `--out` and writes in it: a long run must not end in an error that was there
 * at its start. @throws `GLN_OUTPUT_FOLDER`
 */
export function makeOutputFolder(folder: string): void {
  const probe = join(folder, `.gleaner-${process.pid}`);
  try {
    mkdirSync(folder, { recursive: true });
    const file = openSync(probe, 'wx');
    try {
      writeSync(file, '-');
    } finally {
      closeSync(file);
      rmSync(probe);
    }
  } catch (error) {
    throw new OutputFolderError(folder, messageOf(error), error);
  }
}

/** The options of `gleaner` itself, from any subcommand. */
export function globalOptions(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}

/** Author of a change, for the audit log. */
export function author(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return 'cli';
  }
}

/** Node fires a timer at once that is longer than 2^31 - 1 ms. */
const MAX_SECONDS = 2_147_483;

/** Parses a number of seconds that a timer can wait for. */
export function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= MAX_SECONDS))
    throw new InvalidArgumentError(
      `must be a number of seconds above 0 and at most ${MAX_SECONDS} (24 days)`,
    );
  return value;
}

const MOST = 999_999_999;

/** Parses a whole number above 0. */
export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) < 1 || Number(text) > MOST)
    throw new InvalidArgumentError(`must be a whole number from 1 to ${MOST}`);
  return Number(text);
}

/**
 * Resolves at SIGINT, SIGTERM, a closed output, or after `after` seconds. Rejects with the reason
 * of `failed`.
 */
export function untilStopped(after?: number, failed?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = after === undefined ? undefined : setTimeout(resolve, after * 1000);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    process.once('SIGINT', end);
    process.once('SIGTERM', end);
    process.stdout.on('error', end);
    failed?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(failed.reason);
    });
  });
}

const COMMANDS = { hook: 'hook', 'agent host': 'agents', aggregator: 'aggregator' } as const;

/** Reports on stderr that no instance of a part answers. */
export function reportNoAnswer(part: keyof typeof COMMANDS): void {
  reportProblem(
    `no ${part} answers`,
    `start \`gleaner up\` or \`gleaner ${COMMANDS[part]}\` on these NATS servers, ` +
      'or set other servers: --nats, --config',
  );
}

/** Reports hooks whose answers this version cannot read. */
export function warnUnreadable(lines: readonly string[]): void {
  for (const line of lines)
    reportProblem(line, 'upgrade the older part: `gleaner status` shows the version of each part');
}

/** Reports instances that are known to run and do not answer. */
export function warnMissing(
  missing: readonly { readonly service: string; readonly host: string }[],
): void {
  for (const { service, host } of missing)
    reportProblem(
      `${plainText(service)} on ${plainText(host)} does not answer`,
      'it announced itself in the last 15 s and may be slow, disconnected or dead: see its log',
    );
}

/** As {@link warnMissing}, of hooks. */
export const warnMissingHooks = (hosts: readonly string[]): void =>
  warnMissing(hosts.map((host) => ({ service: services.hook, host })));

/** Reports on stderr a function that may be misspelled: no hook knows it. */
export function noteUnseen(fn: string, hooks: readonly HookAnswer[]): void {
  if (hooks.length > 0 && hooks.every(({ functions }) => functions.length === 0))
    reportProblem(
      `no hook has seen ${fn} yet`,
      'if the name is right, the change applies from its first activation; `gleaner mode` lists ' +
        'stored modes and pauses',
    );
}

/** @throws an error of usage if `name` is given and cannot be the name of an action */
export function checkFunctionName(name: string | undefined): void {
  if (name === undefined || isFunctionName(name)) return;
  throw new UsageError(`'${name}' is not the name of an action`, {
    hint: 'write it as /namespace/package/action or /namespace/action',
  });
}

/** Reports settings of a restore that are not those of a valid configuration, or of one hook. */
export function noteRestoreSettings({ error, places }: RestoreSettings): void {
  const recorded = places.filter(({ trust }) => trust === 'recorded');
  if (error !== null) {
    reportError(error);
    reportProblem(`restoring nevertheless, with ${places[0].source}`, 'correct the configuration');
  } else
    for (const place of recorded)
      reportProblem(
        `a hook has other settings than this configuration: using its ${placeText(place)}`,
        'it was started with other flags, or the file has changed since; --set names others',
      );
  if (places.length === 1) return;
  const engines = places.map(({ config }) => config.hook.engineSocket).join(', ');
  reportProblem(
    `hooks with this configuration ran on ${places.length} engines: ${engines}`,
    'a restore on this host covers each; --set hook.engineSocket=SOCKET names one',
  );
}

/** Reports hosts where a kill switch keeps a change from having an effect. */
export function noteKilled(hooks: readonly HookAnswer[]): void {
  for (const { host } of hooks)
    if (host.killed) reportProblem(plainText(killSwitchText([host])), RELEASE_HINT);
}
