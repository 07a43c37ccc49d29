import type { Command } from 'commander';
import { FEATURES } from '../../agents/index.js';
import {
  type AgentDecision,
  type AgentsList,
  askEvery,
  askEveryPage,
} from '../../broker/services/index.js';
import { EXIT, messageOf, reportProblem } from '../../config/index.js';
import { featureText, requestedCpu } from '../../rules/index.js';
import {
  count,
  json,
  left,
  loadSettings,
  mebibytesText,
  plainText,
  processScreen,
  right,
  table,
  withBroker,
} from '../../runtime/index.js';
import {
  addOutputOption,
  checkFunctionName,
  globalOptions,
  type OutputOptions,
  printTable,
  reportNoAnswer,
  warnMissing,
} from './common.js';

const targetText = ({
  cpu,
  memory,
  weightFactor,
}: NonNullable<AgentDecision['decision']>): string => {
  const parts = [];
  if (cpu !== undefined) parts.push(requestedCpu(cpu));
  if (weightFactor !== undefined) parts.push(`weight x${Number(weightFactor.toFixed(2))}`);
  if (memory !== undefined) parts.push(`${mebibytesText(memory)} MiB`);
  return parts.join(', ') || 'none';
};

/** A decision for programs, with units in its keys. */
export function decisionJson({ at, host, price, decision, ...rest }: AgentDecision) {
  const { cpu, memory, nominalMemory, ...others } = decision ?? {};
  return {
    atMicros: at,
    invokerHost: host,
    ...rest,
    priceCpu: price?.cpu ?? null,
    priceMemory: price?.memory ?? null,
    requested: decision && {
      cpuMillicores: cpu,
      memoryBytes: memory,
      nominalMemoryBytes: nominalMemory,
      ...others,
    },
  };
}

type Row = AgentsList['functions'][number] & {
  readonly host: string;
  /** The agent host as a whole. */
  readonly hostPaused: boolean;
};

export function phaseText({
  phase,
  paused,
  hostPaused,
}: Pick<Row, 'phase' | 'paused' | 'hostPaused'>): string {
  if (hostPaused) return `${phase} (host paused)`;
  return paused ? `${phase} (paused)` : phase;
}

/** `gleaner agents` runs an agent host; its subcommands ask the running ones. */
export function addAgentCommands(agents: Command): void {
  const list = agents
    .command('list')
    .description('list every agent: manager, life-cycle phase, newest decision');
  addOutputOption(list).action(async (options: OutputOptions) => {
    const { config } = loadSettings(globalOptions(list));
    const { answers, missing } = await withBroker(config, (broker) => askEveryPage(broker, 'list'));
    const hosts = [...answers.values()].map((pages) => ({
      ...pages.at(-1)!,
      functions: pages.flatMap(({ functions }) => functions),
    }));
    const rows: Row[] = hosts.flatMap(({ host, paused, functions }) =>
      functions.map((row) => ({ host, hostPaused: paused, ...row })),
    );
    printTable(
      options.output,
      hosts,
      rows.sort((a, b) => a.function.localeCompare(b.function)),
      [
        left('function', (row) => row.function),
        left('agent host', (row) => row.host),
        left('manager', (row) => row.manager),
        left('phase', phaseText),
        right('steps', (row) => count(row.steps)),
        left('requested', (row) => (row.decision ? targetText(row.decision) : '-')),
      ],
    );
    warnMissing(missing);
    if (hosts.length === 0) reportNoAnswer('agent host');
    process.exitCode = hosts.length > 0 ? EXIT.ok : EXIT.failed;
  });

  const explain = agents
    .command('explain')
    .description("show the last decisions of a function's agent with their inputs")
    .argument('<function>', 'fully qualified: /namespace/package/action or /namespace/action');
  addOutputOption(explain).action(async (name: string, options: OutputOptions) => {
    checkFunctionName(name);
    const { config } = loadSettings(globalOptions(explain));
    const { answers, errors, missing } = await withBroker(config, (broker) =>
      askEvery(broker, 'agents', 'explain', { function: name }),
    );
    const hosts = [...answers].map(([host, { decisions }]) => ({ host, decisions }));
    if (options.output === 'json')
      processScreen.write(
        json({
          function: name,
          hosts: hosts.map(({ host, decisions }) => ({
            host,
            decisions: decisions.map(decisionJson),
          })),
        }),
      );
    else
      for (const { host, decisions } of hosts)
        processScreen.write(
          `${name} on ${plainText(host)}\n${table(decisions, [
            right('step', (row) => count(row.step)),
            left('phase', (row) => row.phase),
            left('invoker', (row) => row.host),
            right('activations', (row) => count(row.activations)),
            right('price cpu', (row) => row.price?.cpu.toFixed(2) ?? '-'),
            ...FEATURES.map((feature, i) =>
              right(
                featureText(feature),
                ({ features }: AgentDecision) => features[i]?.toFixed(2) ?? '-',
              ),
            ),
            left('requested', (row) => (row.decision ? targetText(row.decision) : '-')),
            left('sent', (row) => (row.sent ? 'yes' : 'no')),
          ])}`,
        );
    warnMissing(missing);
    if (answers.size + errors.size === 0) reportNoAnswer('agent host');
    else if (hosts.length === 0)
      for (const error of errors.values())
        reportProblem(messageOf(error), '`gleaner agents list` shows the functions with an agent');
    process.exitCode = hosts.length > 0 ? EXIT.ok : EXIT.failed;
  });
}
