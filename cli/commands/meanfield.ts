import type { Command } from 'commander';
import type { z } from 'zod';
import { services } from '../../broker/index.js';
import type { MeanField } from '../../broker/messages/index.js';
import { aggregatorService, callEveryInstance } from '../../broker/services/index.js';
import { EXIT } from '../../config/index.js';
import {
  cores,
  json,
  loadSettings,
  mebibytesText,
  percent,
  plainText,
  processScreen,
  table,
  withBroker,
} from '../../runtime/index.js';
import { addOutputOption, globalOptions, type OutputOptions, reportNoAnswer } from './common.js';

type Explained = z.output<typeof aggregatorService.explain.answer>;

const resourcesText = ({ cpu, memory }: { cpu: number; memory: number }): string =>
  `${cores(cpu)} cores ${mebibytesText(memory)} MiB`;

function text(field: MeanField | null, { agents, invokers }: Explained): string {
  const lines: string[] = [];
  if (field === null) lines.push('no mean field is published yet', '');
  else {
    const { totals, capacity } = field;
    lines.push(
      [
        `members ${totals.members}`,
        `demand ${resourcesText(totals.demand)}`,
        `allocated ${resourcesText(totals.allocated)} in ${totals.allocated.containers} containers`,
        `capacity ${resourcesText(capacity)}`,
      ].join('  '),
      '',
    );
  }
  lines.push(
    table(
      [
        { title: 'invoker host', value: (row) => plainText(row.host) },
        { title: 'demand cores', value: (row) => cores(row.report.demand.cpu), right: true },
        { title: 'available cores', value: (row) => cores(row.report.available.cpu), right: true },
        {
          title: 'occupied CPU %',
          value: (row) => percent(row.occupancy.cpu).replace('%', ''),
          right: true,
        },
        { title: 'price cpu', value: (row) => row.price.cpu.toFixed(2), right: true },
        {
          title: 'demand MiB',
          value: (row) => mebibytesText(row.report.demand.memory),
          right: true,
        },
        {
          title: 'available MiB',
          value: (row) => mebibytesText(row.report.available.memory),
          right: true,
        },
        {
          title: 'occupied memory %',
          value: (row) => percent(row.occupancy.memory).replace('%', ''),
          right: true,
        },
        { title: 'price memory', value: (row) => row.price.memory.toFixed(2), right: true },
        { title: 'age s', value: (row) => (row.age / 1000).toFixed(1), right: true },
      ],
      invokers,
    ),
    table(
      [
        { title: 'agent host', value: (row) => plainText(row.host) },
        { title: 'agents', value: (row) => String(row.sums.members), right: true },
        { title: 'demand cores', value: (row) => cores(row.sums.demand.cpu), right: true },
        { title: 'demand MiB', value: (row) => mebibytesText(row.sums.demand.memory), right: true },
        { title: 'age s', value: (row) => (row.age / 1000).toFixed(1), right: true },
      ],
      agents,
    ),
  );
  return lines.join('\n');
}

export function addMeanField(program: Command): void {
  const command = program
    .command('meanfield')
    .description(
      'show the mean field: totals over all agents, demand and price on each invoker host',
    );
  addOutputOption(command).action(async (options: OutputOptions) => {
    const { config } = loadSettings(globalOptions(command));
    const { states, explained } = await withBroker(config, async (broker) => {
      const ask = (endpoint: string) =>
        callEveryInstance(broker, { service: services.aggregator, endpoint });
      const [inspected, made] = await Promise.all([ask('inspect'), ask('explain')]);
      return { states: inspected, explained: made };
    });
    // Prefers the aggregator that publishes.
    let best: { state: z.output<typeof aggregatorService.inspect.answer>; made: Explained } | null =
      null;
    for (const [host, answer] of states) {
      const state = aggregatorService.inspect.answer.safeParse(answer);
      const made = aggregatorService.explain.answer.safeParse(explained.get(host));
      if (state.success && made.success && (best === null || state.data.publishing))
        best = { state: state.data, made: made.data };
    }
    if (best === null) {
      reportNoAnswer('aggregator');
      process.exitCode = EXIT.failed;
      return;
    }
    if (options.output === 'json') processScreen.write(json({ ...best.state, ...best.made }));
    else processScreen.write(text(best.state.meanField, best.made));
    process.exitCode = EXIT.ok;
  });
}
