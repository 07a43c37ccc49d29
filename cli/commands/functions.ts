import { type Command, Option } from 'commander';
import { type Broker, isFunctionName } from '../../broker/index.js';
import { nextOffset, PAGE_FUNCTIONS } from '../../broker/services/index.js';
import { EXIT, messageOf, reportError } from '../../config/index.js';
import {
  colorsFor,
  compactJson,
  type HookAnswers,
  inspectHooks,
  json,
  loadSettings,
  plainText,
  processScreen,
  withBroker,
} from '../../runtime/index.js';
import {
  AmbiguousFunctionError,
  type FunctionRow,
  functionJson,
  functionNamed,
  functionTable,
  NARROW,
  type TableShape,
} from '../function-table.js';
import {
  globalOptions,
  reportNoAnswer,
  seconds,
  untilStopped,
  warnMissingHooks,
  warnUnreadable,
} from './common.js';

interface FunctionsOptions {
  readonly output: 'table' | 'wide' | 'json';
  readonly watch?: boolean;
  readonly for?: number;
}

const REFRESH_MILLIS = 2000;

const rowsOf = ({ hooks }: HookAnswers): FunctionRow[] =>
  hooks
    .flatMap(({ host, functions }) =>
      functions.map((row) => ({ host: host.host, killed: host.killed, ...row })),
    )
    .sort((a, b) => a.name.localeCompare(b.name) || a.host.localeCompare(b.host));

export function addCommands(program: Command): void {
  const command = program
    .command('functions')
    .description('list functions: limits, harvested and borrowed resources, latency, objective')
    .argument('[name]', 'only this function: /namespace/package/action, or a unique suffix')
    .addOption(
      new Option(
        '-o, --output <format>',
        `table (at most ${NARROW} columns), wide (every figure), json for programs`,
      )
        .choices(['table', 'wide', 'json'])
        .default('table'),
    )
    .option('-w, --watch', 'continue until Ctrl-C: print each row again when it changes')
    .option('--for <seconds>', 'duration with --watch', seconds);
  command.action(async (name: string | undefined, options: FunctionsOptions) => {
    const { config } = loadSettings(globalOptions(command));
    await withBroker(config, async (broker) => {
      const { answers, named } = await fetchFunctions(broker, name);
      const rows = rowsOf(answers).filter((row) => named === undefined || row.name === named);
      const shape: TableShape = {
        wide: options.output === 'wide',
        width: processScreen.isTerminal ? processScreen.columns : NARROW,
        colors: colorsFor(processScreen, process.env),
      };
      const problems = new Problems();
      problems.report(answers);
      if (options.watch)
        await watch(broker, rows, named, problems, {
          ...shape,
          json: options.output === 'json',
          for: options.for,
        });
      else if (options.output === 'json') processScreen.write(json(rows.map(functionJson)));
      else processScreen.write(functionTable(rows, shape).text);
      process.exitCode = answers.hooks.length > 0 ? EXIT.ok : EXIT.failed;
    });
  });
}

/** What keeps hooks from being shown. A watch reports it once, and again if it comes back. */
class Problems {
  #reported = new Set<string>();

  report({ hooks, unread, missing }: HookAnswers): void {
    const isNew = (text: string): boolean => !this.#reported.has(text);
    warnMissingHooks(missing.filter(isNew));
    warnUnreadable(unread.filter(isNew));
    const none = hooks.length + unread.length === 0 ? ['none'] : [];
    if (none.some(isNew)) reportNoAnswer('hook');
    this.#reported = new Set([...missing, ...unread, ...none]);
  }

  /** Such as a lost connection. */
  failed(error: unknown): void {
    const text = messageOf(error);
    if (!this.#reported.has(text)) reportError(error);
    this.#reported = new Set([text]);
  }
}

/**
 * All functions, or the named one and its full name (the given one while no hook answers). Throws
 * as {@link functionNamed} does.
 */
async function fetchFunctions(
  broker: Broker,
  name: string | undefined,
): Promise<{ readonly answers: HookAnswers; readonly named: string | undefined }> {
  // A full name needs one small request; for a suffix, all names must be known.
  if (name !== undefined && isFunctionName(name)) {
    const answers = await inspectHooks(broker, { function: name, containers: 0 });
    if (answers.hooks.some(({ functions }) => functions.length > 0))
      return { answers, named: name };
  }
  const answers = await inspectHooks(broker, { containers: 0 });
  if (name === undefined || answers.hooks.length === 0) return { answers, named: name };
  const names = answers.hooks.flatMap(({ functions }) => functions.map((one) => one.name));
  return { answers, named: functionNamed(name, names) };
}

/** Prints all rows, then changed rows below the same headings; JSON has one row per line. */
async function watch(
  broker: Broker,
  first: readonly FunctionRow[],
  name: string | undefined,
  problems: Problems,
  shape: TableShape & { readonly json: boolean; readonly for: number | undefined },
): Promise<void> {
  const printed = new Map<string, string>();
  const laid = functionTable(first, shape);
  const print = (rows: readonly FunctionRow[], heading: boolean): void => {
    const lines = shape.json
      ? rows.map((row) => compactJson(functionJson(row)).trimEnd())
      : functionTable(rows, { ...shape, like: laid }).lines;
    const changed = lines.filter((line, i) => {
      const key = `${rows[i]!.host} ${plainText(rows[i]!.name)}`;
      const isNew = printed.get(key) !== line;
      printed.set(key, line);
      return isNew;
    });
    if (heading && !shape.json) processScreen.write(`${laid.heading}\n`);
    if (changed.length > 0) processScreen.write(`${changed.join('\n')}\n`);
  };
  print(first, true);
  let named = name;
  let isRefreshing = false;
  const ambiguous = new AbortController();
  let page = { offset: 0, limit: PAGE_FUNCTIONS };
  const timer = setInterval(async () => {
    if (isRefreshing) return;
    isRefreshing = true;
    try {
      // A suffix, given before a hook answered.
      if (named !== undefined && !isFunctionName(named))
        named = (await fetchFunctions(broker, named)).named;
      // Of many functions one page each time: all of them would keep a busy hook from its tap.
      const request = named === undefined ? page : { function: named };
      const answers = await inspectHooks(broker, { ...request, containers: 0 });
      const most = Math.max(0, ...answers.hooks.map(({ total }) => total));
      page = { ...page, offset: nextOffset(page, most) };
      problems.report(answers);
      print(rowsOf(answers), false);
    } catch (error) {
      if (error instanceof AmbiguousFunctionError) ambiguous.abort(error);
      // The next refresh prints the changes.
      else problems.failed(error);
    } finally {
      isRefreshing = false;
    }
  }, REFRESH_MILLIS);
  try {
    await untilStopped(shape.for, ambiguous.signal);
  } finally {
    clearInterval(timer);
  }
}
