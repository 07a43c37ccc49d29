import type { Command } from 'commander';
import { services } from '../../broker/index.js';
import {
  callEveryInstance,
  type FailedInitsView,
  grantReason,
  reasonText,
} from '../../broker/services/index.js';
import { comparisonOver, EXIT, messageOf } from '../../config/index.js';
import type { ExplainedGrant, Explanation } from '../../openwhisk-plugin/control/index.js';
import {
  cores,
  inspectHooks,
  json,
  loadSettings,
  localTime,
  mebibytesText,
  plainText,
  processScreen,
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
  wholeNumber,
} from './common.js';
import { agentText, fetchAgent } from './explain-agent.js';

interface ExplainOptions extends OutputOptions {
  readonly last: number;
}

/**
 * `0.35, allowed 0.3 to 1, user 1: uses less than its limit; as the policy chose`, or `1, the
 * user's: …`.
 */
export function grantText(grant: ExplainedGrant, unit: (value: number) => string): string {
  const [granted, user, lower, upper] = [grant.granted, grant.user, grant.lower, grant.upper].map(
    unit,
  );
  const why = plainText(grantReason(grant.rangeReason, grant.choice));
  if (granted === user && lower === user && upper === user) return `${granted}, the user's: ${why}`;
  const demand =
    Number.isFinite(grant.demand) && unit(grant.demand) !== granted
      ? `, requested ${unit(grant.demand)}`
      : '';
  return `${granted}, allowed ${lower} to ${upper}, user ${user}${demand}: ${why}`;
}

const peakText = (grant: ExplainedGrant, unit: (value: number) => string): string =>
  grant.peak < 0 ? '-' : unit(grant.peak);

const statusText = (status: number): string => (status === 0 ? 'no answer' : `status ${status}`);

/** Effects of Gleaner on an activation, in words. */
export function outcomeText(entry: Explanation): string {
  const parts: string[] = [];
  if (entry.control) parts.push('control arm: user limits');
  else if (!entry.enforced) parts.push('not enforced');
  if (entry.harvested > 0) parts.push(`kept ${span(entry.harvested)} of CPU free`);
  if (entry.accelerated > 0)
    parts.push(`used ${span(entry.accelerated)} of CPU above the user's limit`);
  if (entry.saved > 0) parts.push(`saved about ${span(entry.saved)}`);
  if (entry.loan > 0) parts.push(`memory loan ${mebibytesText(entry.loan)} MiB`);
  if (entry.trippedCpu) parts.push('CPU safeguard tripped');
  if (entry.trippedMemory) parts.push('memory safeguard tripped');
  if (entry.ended === 'init_failed')
    parts.push(`initialization failed (${statusText(entry.status)})`);
  else if (entry.ended !== 'answer') parts.push(reasonText(entry.ended));
  return parts.join('; ') || 'none';
}

export function explainText(entries: readonly Explanation[]): string {
  return table<Explanation>(
    [
      { title: 'when', value: (row) => localTime(row.startedAt, 'time') },
      { title: 'activation', value: (row) => plainText(row.activation).slice(0, 12) },
      {
        title: 'took',
        value: (row) =>
          `${span(row.durationMillis)}${row.cold ? ` + ${span(row.initMillis)} init` : ''}`,
        right: true,
      },
      { title: 'peak cores', value: (row) => peakText(row.cpu, cores), right: true },
      {
        title: 'granted cores',
        value: (row) =>
          row.cpuMode === 'quota'
            ? grantText(row.cpu, cores)
            : `weight ${Math.round(row.shares)} (user ${Math.round(row.userShares)})`,
      },
      { title: 'peak MiB', value: (row) => peakText(row.memory, mebibytesText), right: true },
      { title: 'granted MiB', value: (row) => grantText(row.memory, mebibytesText) },
      { title: 'effect', value: outcomeText },
    ],
    entries,
  );
}

const HEAP_NOTE =
  'A memory loan helps memory that grows after the start (buffers, native memory, page cache, ' +
  'Python).\nV8 and the JVM fix their heap size when the process starts.';

export function addExplain(program: Command): void {
  const command = program
    .command('explain')
    .description(
      'explain the last activations of a function: peaks, allowed ranges, limits, time saved; ' +
        'and its agent',
    )
    .argument('<function>', 'fully qualified: /namespace/package/action or /namespace/action')
    .option('-n, --last <count>', 'number of activations', wholeNumber, 10);
  addOutputOption(command).action(async (name: string, options: ExplainOptions) => {
    checkFunctionName(name);
    const { last } = options;
    const { config } = loadSettings(globalOptions(command));
    const [answers, agents, { hooks }] = await withBroker(config, (broker) =>
      Promise.all([
        callEveryInstance(broker, {
          service: services.hook,
          endpoint: 'explain',
          request: { function: name },
        }),
        fetchAgent(broker, name),
        inspectHooks(broker, { function: name, containers: 0 }),
      ]),
    );
    const hosts = [...answers].map(([host, answer]) => ({ host, ...explained(answer, last) }));
    const comparison = comparisonOver(hooks.flatMap(({ functions }) => functions));
    if (options.output === 'json')
      processScreen.write(json({ function: name, comparison, hosts, agents }));
    else {
      if (hooks.some(({ functions }) => functions.length > 0))
        processScreen.write(
          `response time compared with the control arm: ${comparisonText(comparison)}\n`,
        );
      for (const { host, activations, failedInits, error } of hosts) {
        processScreen.write(
          `${name} on ${plainText(host)}${error ? `: ${plainText(error)}` : ''}\n`,
        );
        if (failedInits !== null) processScreen.write(failedInitsText(failedInits));
        if (activations.length > 0)
          processScreen.write(`${explainText(activations)}${HEAP_NOTE}\n`);
        else if (!error && failedInits === null)
          processScreen.write(
            'no activation seen; `gleaner functions` lists the known functions\n',
          );
      }
      for (const agent of agents) processScreen.write(agentText(agent));
    }
    if (hosts.length === 0) reportNoAnswer('hook');
    process.exitCode = hosts.some(
      ({ activations, failedInits }) => activations.length > 0 || failedInits !== null,
    )
      ? EXIT.ok
      : EXIT.failed;
  });
}

interface Explained {
  readonly activations: Explanation[];
  readonly failedInits: FailedInitsView | null;
  readonly error?: string;
}

function explained(answer: unknown, last: number): Explained {
  if (answer instanceof Error)
    return { activations: [], failedInits: null, error: messageOf(answer) };
  const { activations, failedInits } = (answer ?? {}) as {
    activations?: unknown;
    failedInits?: FailedInitsView | null;
  };
  return {
    activations: Array.isArray(activations) ? (activations as Explanation[]).slice(0, last) : [],
    failedInits: failedInits ?? null,
  };
}

export function failedInitsText({ count, at, status, container }: FailedInitsView): string {
  return (
    `initialization failed ${count} times in containers of an action with this name; newest: ` +
    `${localTime(at)}, ${statusText(status)}, container ${plainText(container)}\n` +
    '  the code is longer than the captured packet, so its activation id is unknown: ' +
    'see `wsk activation list`\n'
  );
}
