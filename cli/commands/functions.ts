import type { Command } from 'commander';
import type { FunctionView } from '../../broker/index.js';
import { withBroker } from '../connection.js';
import { EXIT } from '../exit.js';
import { inspectHooks } from '../hook-client.js';
import { cores, count, json, mebibytesText, plainText, processScreen, span, table } from '../output.js';
import { loadSettings } from '../settings.js';
import { addOutputOption, globalOptions, noHookAnswers, type OutputOptions, tellUnread } from './common.js';

type Row = FunctionView & { readonly host: string; readonly killed: boolean };

const figure = (value: number): string => (value === 0 ? '-' : value.toFixed(1));

export function addFunctions(program: Command): void {
  const command = program
    .command('functions')
    .description('list functions: limits, what was harvested and borrowed, latency and objective');
  addOutputOption(command).action(async (options: OutputOptions) => {
    const { config } = loadSettings(globalOptions(command));
    const { hooks, unread } = await withBroker(config, (broker) => inspectHooks(broker));
    const rows: Row[] = hooks.flatMap(({ host, functions }) =>
      functions.map((row) => ({ host: host.host, killed: host.killed, ...row })),
    );
    if (options.output === 'json') processScreen.write(json(rows));
    else
      processScreen.write(
        table<Row>(
          [
            { title: 'function', value: (row) => plainText(row.name) },
            { title: 'host', value: (row) => plainText(row.host) },
            { title: 'mode', value: (row) => (row.killed ? 'stopped' : row.paused ? 'paused' : row.mode) },
            { title: 'calls', value: (row) => count(row.activations), right: true },
            { title: 'containers', value: (row) => count(row.containers), right: true },
            { title: 'cpu', value: (row) => row.cpuMode },
            {
              title: 'user',
              value: (row) => (row.cpuMode === 'quota' ? cores(row.userCpu) : `w${row.userShares}`),
              right: true,
            },
            {
              title: 'now',
              value: (row) => (row.cpuMode === 'quota' ? cores(row.cpu) : `w${Math.round(row.shares)}`),
              right: true,
            },
            { title: 'user MiB', value: (row) => mebibytesText(row.userMemory), right: true },
            { title: 'now MiB', value: (row) => mebibytesText(row.memory), right: true },
            { title: 'harvested core-s', value: (row) => figure(row.harvestedCpuSeconds), right: true },
            { title: 'harvested MiB-s', value: (row) => figure(row.harvestedMebibyteSeconds), right: true },
            { title: 'borrowed core-s', value: (row) => figure(row.acceleratedCpuSeconds), right: true },
            { title: 'saved s', value: (row) => figure(row.savedSeconds), right: true },
            { title: 'p99', value: (row) => span(row.p99), right: true },
            { title: 'slo', value: (row) => span(row.slo), right: true },
            { title: 'safeguard', value: (row) => plainText(row.safeguard) },
          ],
          rows,
        ),
      );
    tellUnread(unread);
    if (hooks.length + unread.length === 0) noHookAnswers();
    process.exitCode = hooks.length > 0 ? EXIT.ok : EXIT.failed;
  });
}
