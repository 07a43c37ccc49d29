import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Command } from 'commander';
import { EXIT } from '../../config/index.js';
import { configPath, loadSettings, processScreen, stderrProgress } from '../../runtime/index.js';
import { bundleText, collectBundle } from '../support/bundle.js';
import { globalOptions } from './common.js';

export function addCommands(program: Command): void {
  const command = program
    .command('support-bundle')
    .description(
      'collect versions, configuration, doctor, state, logs and audit in one file without secrets',
    )
    .argument('[file]', 'output file; `-`: JSON on the standard output', 'gleaner-support.json.gz');
  command.action(async (file: string) => {
    const bar = stderrProgress();
    const options = globalOptions(command);
    const bundle = await collectBundle(loadSettings(options), configPath(options), (part, share) =>
      bar.update(share, part),
    );
    bar.end();
    const text = bundleText(bundle);
    if (file === '-') processScreen.write(text);
    else {
      writeFileSync(file, file.endsWith('.gz') ? gzipSync(text) : text, { mode: 0o600 });
      processScreen.write(`${file}: review it before you share it; it names functions and hosts\n`);
    }
    process.exitCode = EXIT.ok;
  });
}
