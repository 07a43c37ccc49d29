import { type Command, InvalidArgumentError } from 'commander';
import { storedMode, type UnreadableMode } from '../../broker/index.js';
import type { ModeValue } from '../../broker/messages/index.js';
import {
  askEvery,
  EXPLAINED_ACTIVATIONS,
  type ExplanationView,
  type FailedInitsView,
  type FunctionView,
} from '../../broker/services/index.js';
import { EXIT, GleanerError, messageOf, reportProblem } from '../../config/index.js';
import { comparisonOver, grantReason, reasonText } from '../../rules/index.js';
import {
  cores,
  inspectHooks,
  json,
  left,
  loadSettings,
  localTime,
  mebibytesText,
  plainText,
  processScreen,
  right,
  span,
  table,
  withBroker,
} from '../../runtime/index.js';
import { comparisonText } from '../verdict.js';
import {
  addOutputOption,
  checkFunctionName,
  globalOptions,
  type OutputOptions,
  reportNoAnswer,
  warnMissing,
  wholeNumber,
} from './common.js';
import { agentText, fetchAgent } from './explain-agent.js';

function lastCount(text: string): number {
  const count = wholeNumber(text);
  if (count > EXPLAINED_ACTIVATIONS)
    throw new InvalidArgumentError(`must be at most ${EXPLAINED_ACTIVATIONS}`);
  return count;
}

interface ExplainOptions extends OutputOptions {
  readonly last: number;
}

/**
 * `0.35, allowed 0.3 to 1, user 1: uses less than its limit; as the policy chose`, or `1, the
 * user's: …`.
 */
export function grantText(
  grant: ExplanationView['cpu'],
  unit: (value: number | null) => string,
): string {
  const [granted, user, lower, upper] = [grant.granted, grant.user, grant.lower, grant.upper].map(
    unit,
  );
  const why = plainText(grantReason(grant.rangeReason, grant.choice));
  if (granted === user && lower === user && upper === user) return `${granted}, the user's: ${why}`;
  const demand =
    grant.demand !== null && unit(grant.demand) !== granted
      ? `, requested ${unit(grant.demand)}`
      : '';
  return `${granted}, allowed ${lower} to ${upper}, user ${user}${demand}: ${why}`;
}

const peakText = (grant: ExplanationView['cpu'], unit: (value: number | null) => string): string =>
  (grant.peak ?? -1) < 0 ? '-' : unit(grant.peak);

const statusText = (status: number): string => (status === 0 ? 'no answer' : `status ${status}`);

/** Effects of Gleaner on an activation, in words. */
export function outcomeText(entry: ExplanationView): string {
  const parts: string[] = [];
  if (entry.control) parts.push('control arm: user limits');
  else if (!entry.enforced) parts.push('not enforced');
  if (entry.harvested > 0) parts.push(`kept ${span(entry.harvested)} of CPU free`);
  if (entry.accelerated > 0)
    parts.push(`used ${span(entry.accelerated)} of CPU above the user's limit`);
  if (entry.saved > 0) parts.push(`saved about ${span(entry.saved)}`);
  if (entry.loan > 0) parts.push(`memory loan ${mebibytesText(entry.loan)} MiB`);
  if (entry.limitsChanged) parts.push('user limits changed while it ran');
  if (entry.trippedCpu) parts.push('CPU safeguard tripped');
  if (entry.trippedMemory) parts.push('memory safeguard tripped');
  if (entry.ended === 'init_failed')
    parts.push(`initialization failed (${statusText(entry.status)})`);
  else if (entry.ended !== 'answer') parts.push(reasonText(entry.ended));
  return parts.join('; ') || 'none';
}

export function explainText(entries: readonly ExplanationView[]): string {
  return table(entries, [
    left('when', (row) => localTime(row.startedAt, 'time')),
    left('activation', (row) => plainText(row.activation).slice(0, 12)),
    right(
      'took',
      (row) => `${span(row.durationMillis)}${row.cold ? ` + ${span(row.initMillis)} init` : ''}`,
    ),
    right('peak cores', (row) => peakText(row.cpu, cores)),
    left('granted cores', (row) =>
      row.cpuMode === 'quota'
        ? grantText(row.cpu, cores)
        : `weight ${Math.round(row.shares ?? 0)} (user ${Math.round(row.userShares ?? 0)})`,
    ),
    right('peak MiB', (row) => peakText(row.memory, mebibytesText)),
    left('granted MiB', (row) => grantText(row.memory, mebibytesText)),
    left('effect', outcomeText),
  ]);
}

/**
 * The figure that the slowdown bound acts on:
 * `mean-time ratio 1.45 (20 activations, 24 control samples), slowdown bound 1.25`.
 */
export function slowdownBoundText(one: NonNullable<FunctionView['slowdownBound']>): string {
  const { bound, meanTimeRatio, deprioritized, activations, controlSamples } = one;
  const applied = deprioritized ? '' : ' (not deprioritized: not applied)';
  const limit = `slowdown bound ${bound}${applied}`;
  if (meanTimeRatio !== null) {
    const samples = `${activations} activations, ${controlSamples} control samples`;
    return `mean-time ratio ${meanTimeRatio.toFixed(2)} (${samples}), ${limit}`;
  }
  const missing = [
    `${activations} of ${one.activationsNeeded} activations`,
    `${controlSamples} of ${one.controlSamplesNeeded} control samples`,
  ];
  return `mean-time ratio – (${missing.join(', ')}), ${limit}`;
}

/** The pause or mode of this function alone: `paused by operator:ann: too slow`. */
export function storedModeText(stored: ModeValue | UnreadableMode): string {
  if ('unreadable' in stored) return 'paused: its stored mode cannot be read (`gleaner mode`)';
  const { paused, mode, author, reason } = stored;
  const what = [...(paused ? ['paused'] : []), ...(mode === undefined ? [] : [`mode ${mode}`])];
  const why = reason === '' ? '' : `: ${plainText(reason)}`;
  return `${what.join(', ')} by ${plainText(author)}${why}`;
}

/** For programs; an unreadable value has the keys of a readable one. */
const storedModeJson = (stored: ModeValue | UnreadableMode): object =>
  'unreadable' in stored
    ? { mode: null, paused: true, author: null, reason: null, unreadable: true }
    : {
        mode: stored.mode ?? null,
        paused: stored.paused,
        author: stored.author,
        reason: stored.reason,
      };

/** The rest is shown. Without JetStream nothing is stored, which is no problem. */
function noteNotRead(name: string, error: unknown): null {
  if (!(error instanceof GleanerError && error.code === 'GLN_BROKER_NO_JETSTREAM'))
    reportProblem(
      `cannot read the stored mode of ${plainText(name)}: ${messageOf(error)}`,
      'read it as an operator, with JetStream: `gleaner status` shows its state',
    );
  return null;
}

const HEAP_NOTE =
  'A memory loan helps memory that grows after the start (buffers, native memory, page cache, ' +
  'Python).\nV8 and the JVM fix their heap size when the process starts.';

export function addCommands(program: Command): void {
  const command = program
    .command('explain')
    .description(
      'explain the last activations of a function: peaks, allowed ranges, limits, time saved; ' +
        'and its agent',
    )
    .argument('<function>', 'fully qualified: /namespace/package/action or /namespace/action')
    .option(
      '-n, --last <count>',
      `number of activations, at most ${EXPLAINED_ACTIVATIONS}`,
      lastCount,
      EXPLAINED_ACTIVATIONS,
    );
  addOutputOption(command).action(async (name: string, options: ExplainOptions) => {
    checkFunctionName(name);
    const { last } = options;
    const { config } = loadSettings(globalOptions(command));
    const [{ answers, errors, missing }, agents, { hooks }, stored] = await withBroker(
      config,
      (broker) =>
        Promise.all([
          askEvery(broker, 'hook', 'explain', { function: name }),
          fetchAgent(broker, name),
          inspectHooks(broker, { function: name, containers: 0 }),
          storedMode(broker, name).catch((error: unknown) => noteNotRead(name, error)),
        ]),
    );
    const hosts: ExplainedHost[] = [
      ...[...answers].map(([host, { activations, failedInits = null }]) => ({
        host,
        activations: activations.slice(0, last),
        failedInits,
      })),
      ...[...errors].map(([host, error]) => ({
        host,
        activations: [],
        failedInits: null,
        error: messageOf(error),
      })),
    ];
    const comparison = comparisonOver(hooks.flatMap(({ functions }) => functions));
    const bounds = new Map(
      hooks.map(({ host, functions }) => [host.host, functions[0]?.slowdownBound]),
    );
    if (options.output === 'json') {
      const all = hosts.map((one) => ({ ...one, slowdownBound: bounds.get(one.host) ?? null }));
      processScreen.write(
        json({
          function: name,
          comparison,
          stored: stored && storedModeJson(stored),
          hosts: all,
          agents: agents.found,
        }),
      );
    } else {
      if (hooks.some(({ functions }) => functions.length > 0))
        processScreen.write(
          `response time compared with the control arm: ${comparisonText(comparison)}\n`,
        );
      if (stored !== null) processScreen.write(`${name}: ${storedModeText(stored)}\n`);
      for (const { host, activations, failedInits, error } of hosts) {
        processScreen.write(
          `${name} on ${plainText(host)}${error ? `: ${plainText(error)}` : ''}\n`,
        );
        const bounded = bounds.get(host);
        if (bounded !== undefined) processScreen.write(`${slowdownBoundText(bounded)}\n`);
        if (failedInits !== null) processScreen.write(failedInitsText(failedInits));
        if (activations.length > 0)
          processScreen.write(`${explainText(activations)}${HEAP_NOTE}\n`);
        else if (!error && failedInits === null)
          processScreen.write(
            'no activation seen; `gleaner functions` lists the known functions\n',
          );
      }
      for (const agent of agents.found) processScreen.write(agentText(agent));
    }
    warnMissing([...missing, ...agents.missing]);
    if (hosts.length === 0) reportNoAnswer('hook');
    process.exitCode = hosts.some(
      ({ activations, failedInits }) => activations.length > 0 || failedInits !== null,
    )
      ? EXIT.ok
      : EXIT.failed;
  });
}

interface ExplainedHost {
  readonly host: string;
  readonly activations: readonly ExplanationView[];
  readonly failedInits: FailedInitsView | null;
  readonly error?: string;
}

export function failedInitsText({ count, at, status, container }: FailedInitsView): string {
  return (
    `initialization failed ${count} times in containers of an action with this name; newest: ` +
    `${localTime(at)}, ${statusText(status)}, container ${plainText(container)}\n` +
    '  the code is longer than the captured packet, so its activation id is unknown: ' +
    'see `wsk activation list`\n'
  );
}
