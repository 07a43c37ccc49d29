import type { Command } from 'commander';
import { type EngineSpeed, engineSpeeds } from '../../agents/nn/index.js';
import { EXIT } from '../../config/index.js';
import { json, left, processScreen, right, table } from '../../runtime/index.js';
import { addOutputOption, type OutputOptions } from './common.js';

const figure = (value: number | null): string => (value === null ? '-' : value.toPrecision(3));

export function enginesText(speeds: readonly EngineSpeed[]): string {
  return table(speeds, [
    left('engine', (row) => row.name),
    left('runs', (row) => (row.runs ? 'yes' : 'no')),
    right('forward us', (row) => figure(row.forwardMicros)),
    right('ppo step ms', (row) => figure(row.ppoMillis)),
    left('detail', (row) => row.detail),
  ]);
}

export function addCommands(program: Command): void {
  addOutputOption(program.command('engines'))
    .description(
      'measure the speed of the neural network engines on this machine (about two seconds)',
    )
    .action(async ({ output }: OutputOptions) => {
      const speeds = await engineSpeeds((text) => process.stderr.write(`gleaner: ${text}\n`));
      processScreen.write(output === 'json' ? json(speeds) : enginesText(speeds));
      if (!speeds.some(({ name, runs }) => name === 'js' && runs)) process.exitCode = EXIT.failed;
    });
}
