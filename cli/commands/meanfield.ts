import type { Command } from 'commander';
import type { z } from 'zod';
import type { MeanField } from '../../broker/messages/index.js';
import { type aggregatorService, askEvery } from '../../broker/services/index.js';
import { EXIT } from '../../config/index.js';
import {
  cores,
  json,
  left,
  loadSettings,
  mebibytesText,
  percent,
  plainText,
  processScreen,
  right,
  table,
  withBroker,
} from '../../runtime/index.js';
import {
  addOutputOption,
  globalOptions,
  type OutputOptions,
  reportNoAnswer,
  warnMissing,
} from './common.js';

type Explained = z.output<typeof aggregatorService.explain.answer>;

const resourcesText = ({ cpu, memory }: { cpu: number; memory: number }): string =>
  `${cores(cpu)} cores ${mebibytesText(memory)} MiB`;

function text(
  field: MeanField | null,
  { agents, invokers }: Explained,
  paused: string | null,
): string {
  const lines: string[] = [];
  if (paused !== null)
    lines.push(`the aggregator on ${plainText(paused)} is paused: nothing is published`, '');
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
    table(invokers, [
      left('invoker host', (row) => row.host),
      right('demand cores', (row) => cores(row.report.demand.cpu)),
      right('available cores', (row) => cores(row.report.available.cpu)),
      right('occupied CPU %', (row) => percent(row.occupancy.cpu).replace('%', '')),
      right('price cpu', (row) => row.price.cpu.toFixed(2)),
      right('demand MiB', (row) => mebibytesText(row.report.demand.memory)),
      right('available MiB', (row) => mebibytesText(row.report.available.memory)),
      right('occupied memory %', (row) => percent(row.occupancy.memory).replace('%', '')),
      right('price memory', (row) => row.price.memory.toFixed(2)),
      right('pressure', ({ report: { pressure } }) => pressure?.toFixed(2) ?? '–'),
      right('weights', ({ report: { weights } }) => weights?.toFixed(0) ?? '–'),
      right('age s', (row) => (row.age / 1000).toFixed(1)),
    ]),
    table(agents, [
      left('agent host', (row) => row.host),
      right('agents', (row) => String(row.sums.members)),
      right('demand cores', (row) => cores(row.sums.demand.cpu)),
      right('demand MiB', (row) => mebibytesText(row.sums.demand.memory)),
      right('age s', (row) => (row.age / 1000).toFixed(1)),
    ]),
  );
  return lines.join('\n');
}

export function addCommands(program: Command): void {
  const command = program
    .command('meanfield')
    .description(
      'show the mean field: totals over all agents, demand and price on each invoker host',
    );
  addOutputOption(command).action(async (options: OutputOptions) => {
    const { config } = loadSettings(globalOptions(command));
    const [states, explained] = await withBroker(config, (broker) =>
      Promise.all([
        askEvery(broker, 'aggregator', 'inspect'),
        askEvery(broker, 'aggregator', 'explain'),
      ]),
    );
    // Prefers the aggregator that publishes.
    const both = [...states.answers].flatMap(([host, state]) => {
      const made = explained.answers.get(host);
      return made === undefined ? [] : [{ state, made }];
    });
    warnMissing(states.missing);
    const best = both.find(({ state }) => state.publishing) ?? both[0];
    if (best === undefined) {
      reportNoAnswer('aggregator');
      process.exitCode = EXIT.failed;
      return;
    }
    if (options.output === 'json') processScreen.write(json({ ...best.state, ...best.made }));
    else
      processScreen.write(
        text(best.state.meanField, best.made, best.state.paused ? best.state.host : null),
      );
    process.exitCode = EXIT.ok;
  });
}
