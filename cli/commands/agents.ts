import type { Command } from 'commander';
import { FEATURES } from '../../agents/index.js';
import { services } from '../../broker/index.js';
import {
  type AgentDecision,
  type AgentsList,
  agentsService,
  callEveryInstance,
  featureText,
  requestedCpu,
} from '../../broker/services/index.js';
import { EXIT, messageOf, reportProblem } from '../../config/index.js';
import {
  count,
  json,
  loadSettings,
  mebibytesText,
  plainText,
  processScreen,
  table,
  withBroker,
} from '../../runtime/index.js';
import {
  addOutputOption,
  checkFunctionName,
  globalOptions,
  type OutputOptions,
  reportNoAnswer,
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

type Row = AgentsList['functions'][number] & { readonly host: string };

/** `gleaner agents` runs an agent host; its subcommands ask the running ones. */
export function addAgentCommands(agents: Command): void {
  const list = agents
    .command('list')
    .description('list every agent: manager, life-cycle phase, newest decision');
  addOutputOption(list).action(async (options: OutputOptions) => {
    const { config } = loadSettings(globalOptions(list));
    const answers = await withBroker(config, (broker) =>
      callEveryInstance(broker, { service: services.agents, endpoint: 'list' }),
    );
    const hosts: AgentsList[] = [];
    for (const answer of answers.values()) {
      const checked = agentsService.list.answer.safeParse(answer);
      if (checked.success) hosts.push(checked.data);
    }
    const rows: Row[] = hosts.flatMap(({ host, functions }) =>
      functions.map((row) => ({ host, ...row })),
    );
    if (options.output === 'json') processScreen.write(json(hosts));
    else
      processScreen.write(
        table<Row>(
          [
            { title: 'function', value: (row) => plainText(row.function) },
            { title: 'agent host', value: (row) => plainText(row.host) },
            { title: 'manager', value: (row) => plainText(row.manager) },
            { title: 'phase', value: (row) => (row.paused ? `${row.phase} (paused)` : row.phase) },
            { title: 'steps', value: (row) => count(row.steps), right: true },
            { title: 'requested', value: (row) => (row.decision ? targetText(row.decision) : '-') },
          ],
          rows.sort((a, b) => a.function.localeCompare(b.function)),
        ),
      );
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
    const answers = await withBroker(config, (broker) =>
      callEveryInstance(broker, {
        service: services.agents,
        endpoint: 'explain',
        request: { function: name },
      }),
    );
    const hosts: { host: string; decisions: AgentDecision[] }[] = [];
    for (const [host, answer] of answers) {
      const checked = agentsService.explain.answer.safeParse(answer);
      if (checked.success) hosts.push({ host, decisions: checked.data.decisions });
    }
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
          `${name} on ${plainText(host)}\n${table<AgentDecision>(
            [
              { title: 'step', value: (row) => count(row.step), right: true },
              { title: 'phase', value: (row) => row.phase },
              { title: 'invoker', value: (row) => plainText(row.host) },
              { title: 'calls', value: (row) => count(row.activations), right: true },
              { title: 'price cpu', value: (row) => row.price?.cpu.toFixed(2) ?? '-', right: true },
              ...FEATURES.map((feature, i) => ({
                title: featureText(feature),
                value: ({ features }: AgentDecision) => features[i]?.toFixed(2) ?? '-',
                right: true,
              })),
              {
                title: 'requested',
                value: (row) => (row.decision ? targetText(row.decision) : '-'),
              },
              { title: 'sent', value: (row) => (row.sent ? 'yes' : 'no') },
            ],
            decisions,
          )}`,
        );
    if (answers.size === 0) reportNoAnswer('agent host');
    else if (hosts.length === 0)
      for (const answer of answers.values())
        if (answer instanceof Error)
          reportProblem(
            messageOf(answer),
            '`gleaner agents list` shows the functions with an agent',
          );
    process.exitCode = hosts.length > 0 ? EXIT.ok : EXIT.failed;
  });
}
