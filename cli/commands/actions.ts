import { type Command, Option } from 'commander';
import type { Broker } from '../../broker/index.js';
import { EXIT, errorClass, reportProblem } from '../../config/index.js';
import { killFile } from '../../openwhisk-plugin/daemon/index.js';
import {
  type ActionOutcome,
  type Annotations,
  Journal,
  type JournalEntry,
  type LimitRequest,
  type LimitValues,
  type ListedAction,
  type OpenChange,
  openChanges,
  readAnnotations,
  type WritableLimit,
  writableLimits,
} from '../../openwhisk-plugin/openwhisk-api/index.js';
import {
  cores,
  count,
  fetchAgents,
  json,
  left,
  limitRequestsOf,
  loadSettings,
  milliseconds,
  plainText,
  processScreen,
  readLimitRequests,
  right,
  statePaths,
  table,
  withBroker,
} from '../../runtime/index.js';
import { connectActions, holdsOf, withJournal } from '../../runtime/wiring/index.js';
import {
  addOutputOption,
  checkFunctionName,
  globalOptions,
  type OutputOptions,
  printTable,
} from './common.js';
import { addFollow, addRecommend } from './right-sizing.js';

interface ApplyOptions extends OutputOptions {
  readonly requests?: string;
  readonly limit?: WritableLimit[];
  readonly dryRun: boolean;
}

export class ActionsHeldError extends errorClass('GLN_ACTIONS_HELD') {}

interface ReportOptions extends ApplyOptions {
  /** The limits come from the agents' newest decisions, not from a file. */
  readonly fromAgents?: boolean;
}

const OTHER_SIZES =
  "these limits are the agents' newest decisions; `gleaner actions follow` writes those of " +
  '`gleaner actions recommend`';

/** Exit code of a shell command that SIGINT ended. */
const INTERRUPTED = 130;
const NO_REQUESTS: [string, string] = [
  'no agent requests other limits',
  'use the manager `right-size` or --requests FILE; see also `gleaner actions recommend`',
];

const DRY: [string, string] = [
  '--no-dry-run',
  'change the limits; otherwise only show the changes',
];

export function addCommands(program: Command): void {
  const actions = program
    .command('actions')
    .description("show and change actions' own limits through OpenWhisk's REST API");
  addList(actions);
  addRecommend(actions);
  addFollow(actions);
  addApply(actions);
  addUndo(actions);
}

function addList(actions: Command): void {
  const command = actions
    .command('list')
    .description(
      "list the actions of the keys' namespaces: limits, annotations, limits before Gleaner",
    );
  addOutputOption(command).action(async (options: OutputOptions) => {
    const { config } = loadSettings(globalOptions(command));
    const writer = await connectActions(config);
    const open = openChanges(Journal.read(statePaths(config).actions));
    const rows = (await writer.list()).map((listed) =>
      describe(listed, open.get(listed.function)?.limits),
    );
    printTable(options.output, rows, rows, [
      left('function', (row) => row.function),
      left('version', (row) => row.version),
      right('MiB', (row) => count(row.limits.memory)),
      right('concurrency', (row) => count(row.limits.concurrency)),
      right('instances', (row) => count(row.limits.instances)),
      left('before Gleaner', (row) => valuesText(row.original)),
      left('mode', (row) => modeText(row.annotations)),
      right('slo ms', (row) => milliseconds(row.annotations.sloMs)),
      right('cpu cores', (row) => cores(row.annotations.cpuMillicores)),
      left('unreadable', (row) => row.annotations.unreadable.join(', ')),
    ]);
    process.exitCode = EXIT.ok;
  });
}

/** As written by the owner; `observe` if annotations are unreadable (last column). */
const modeText = ({ mode, modeAsWritten, unreadable }: Annotations): string =>
  (unreadable.length > 0 ? mode : modeAsWritten) ?? '-';

function describe(
  { function: fn, action, ranges }: ListedAction,
  open: ReadonlyMap<WritableLimit, { original: number | null }> | undefined,
) {
  const original = Object.fromEntries(
    [...(open ?? [])].map(([limit, known]) => [limit, known.original]),
  );
  const { memory, concurrency, instances } = action.limits;
  const limits = { memory, concurrency: concurrency ?? null, instances: instances ?? null };
  return {
    function: fn,
    version: action.version,
    limits,
    ranges,
    original,
    annotations: readAnnotations(action),
  };
}

function addApply(actions: Command): void {
  const command = actions
    .command('apply')
    .description(
      'write limits of actions that agents request (manager right-size) or a file lists; ' +
        'a dry run by default (exit code 1 if one fails or is held)',
    )
    .option(
      '--requests <file>',
      'JSON: [{"function", "memoryMiB", "concurrency", "instances"}] (default: ask the agents)',
    )
    .addOption(
      new Option(
        '--limit <name...>',
        "only these of the agents' requests (default: memory)",
      ).choices(writableLimits),
    )
    .option(...DRY);
  addOutputOption(command).action(async (options: ApplyOptions) => {
    const { config } = loadSettings(globalOptions(command));
    const { actions: path, killSwitch } = statePaths(config);
    if (!options.dryRun && killFile(killSwitch) !== 'unset') throw new ActionsHeldError(killSwitch);
    const apply = async (
      requests: readonly LimitRequest[],
      broker: Broker | null,
    ): Promise<void> => {
      const fromAgents = broker !== null;
      await interruptible(requests.length, { ...options, fromAgents }, async (signal, each) => {
        const writer = await connectActions(config, { signal });
        let findHolds = holdsOf({ broker, killSwitch, signal });
        if (options.dryRun) {
          // Nothing is written between, so what holds now is read once.
          const held = await findHolds(requests.map((one) => one.function));
          findHolds = async () => held;
        }
        return await journaled(path, options.dryRun, signal, (journal) => {
          const entries = journal?.entries ?? Journal.read(path);
          return writer.apply(requests, entries, journal, findHolds, each);
        });
      });
    };
    if (options.requests !== undefined) {
      const requests = readLimitRequests(options.requests);
      if (requests.length === 0 && options.output !== 'json')
        reportProblem(`${options.requests} requests no limits`, 'add a row for each action');
      await apply(requests, null);
      return;
    }
    await withBroker(config, async (broker) => {
      const requests = limitRequestsOf(await fetchAgents(broker), options.limit ?? ['memory']);
      if (requests.length === 0 && options.output !== 'json') reportProblem(...NO_REQUESTS);
      await apply(requests, broker);
    });
  });
}

function addUndo(actions: Command): void {
  const command = actions
    .command('undo')
    .description(
      'restore the limits that the owner of each action set; keep later changes by others',
    )
    .argument('[function...]', 'only these: /namespace/package/action or /namespace/action')
    .option(...DRY);
  addOutputOption(command).action(async (functions: string[], options: ApplyOptions) => {
    for (const fn of functions) checkFunctionName(fn);
    const { config } = loadSettings(globalOptions(command));
    const path = statePaths(config).actions;
    const open = openOf(Journal.read(path), functions);
    if (open.size === 0 && options.output !== 'json')
      process.stderr.write(`nothing to undo${functions.length > 0 ? ' for these actions' : ''}\n`);
    await interruptible(open.size, options, async (signal, each) => {
      const writer = await connectActions(config, { signal });
      return await journaled(path, options.dryRun, signal, (journal) =>
        writer.undo(openOf(journal?.entries ?? Journal.read(path), functions), journal, each),
      );
    });
  });
}

/** `act` gets null for a dry run, which needs no lock. */
function journaled<T>(
  path: string,
  dryRun: boolean,
  signal: AbortSignal,
  act: (journal: Journal | null) => Promise<T>,
): Promise<T> {
  if (dryRun) return act(null);
  return withJournal(path, signal, act, () =>
    process.stderr.write('another process changes actions: waiting for it\n'),
  );
}

/** Changes that are not undone, of these functions or of all. */
function openOf(
  entries: readonly JournalEntry[],
  functions: readonly string[],
): Map<string, OpenChange> {
  const open = openChanges(entries);
  for (const fn of [...open.keys()])
    if (functions.length > 0 && !functions.includes(fn)) open.delete(fn);
  return open;
}

/** Runs and reports changes. Ctrl-C stops after the current change. */
async function interruptible(
  all: number,
  options: ReportOptions,
  act: (signal: AbortSignal, each: (outcome: ActionOutcome) => void) => Promise<unknown>,
): Promise<void> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  const done: ActionOutcome[] = [];
  process.on('SIGINT', stop);
  try {
    await act(stopping.signal, (outcome) => {
      done.push(outcome);
      if (all > 1 && !options.dryRun)
        process.stderr.write(
          `${done.length} of ${all}: ${plainText(outcome.function)} ${outcome.result}\n`,
        );
      if (done.length < all) stopping.signal.throwIfAborted();
    });
    report(done, options);
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
    report(done, options);
    process.stderr.write(
      `interrupted after ${done.length} of ${all}; \`gleaner actions undo\` shows them\n`,
    );
    process.exitCode = INTERRUPTED;
  } finally {
    process.off('SIGINT', stop);
  }
}

const valuesText = (values: LimitValues | Record<string, number | null>): string =>
  Object.entries(values)
    .map(([limit, value]) => `${limit} ${value ?? 'none'}`)
    .join(', ') || '-';

function report(
  outcomes: readonly ActionOutcome[],
  { output, dryRun, fromAgents = false }: ReportOptions,
): void {
  if (output === 'json') processScreen.write(json({ dryRun, outcomes }));
  else {
    processScreen.write(
      table(outcomes, [
        left('function', (row) => row.function),
        left('result', (row) => row.result),
        left('from', (row) => valuesText(row.from)),
        left('to', (row) => valuesText(row.to)),
        left('note', (row) => [row.note, ...leftText(row)].filter(Boolean).join('; ')),
      ]),
    );
    if (dryRun && outcomes.some(({ result }) => result.startsWith('would')))
      processScreen.write(
        '\nnothing was changed; use --no-dry-run. A change makes a new version with cold starts\n',
      );
  }
  if (output !== 'json' && fromAgents && outcomes.some(({ result }) => result === 'unchanged'))
    processScreen.write(`\n${OTHER_SIZES}\n`);
  const isDone = outcomes.every(({ result }) => result !== 'failed' && result !== 'held');
  process.exitCode = isDone ? EXIT.ok : EXIT.failed;
}

function leftText({ planned }: ActionOutcome): string[] {
  if (planned === null) return [];
  return [
    ...Object.entries(planned.left).map(([limit, why]) => `${limit}: ${why}`),
    ...planned.clipped
      .filter((limit) => planned.to[limit] !== undefined || limit === 'memory')
      .map((limit) => {
        const why = limit === 'memory' ? planned.rangeLimit : '';
        return `${limit}: ${why || 'as far as allowed'}`;
      }),
  ];
}
