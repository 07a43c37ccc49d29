import type { Command } from 'commander';
import { ConfigError, formatProblem, printConfig } from '../../config/index.js';
import { checkCredentials } from '../credentials.js';
import { EXIT } from '../exit.js';
import { json, processScreen } from '../output.js';
import { configPath, loadSettings } from '../settings.js';
import { addOutputOption, globalOptions, type OutputOptions } from './common.js';

export function addConfig(program: Command): void {
  const config = program.command('config').description('check or print the configuration');
  const check = config
    .command('check')
    .description('name every problem at once (exit code 2 if there is one); change nothing');
  addOutputOption(check).action((options: OutputOptions) => {
    const settings = globalOptions(check);
    const file = configPath(settings) ?? null;
    let problems: readonly { path: string; message: string; source: string; line?: number; value?: unknown }[] = [];
    try {
      problems = checkCredentials(loadSettings(settings).config.nats);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems = error.problems;
    }
    if (options.output === 'json') processScreen.write(json({ file, valid: problems.length === 0, problems }));
    else if (problems.length === 0) processScreen.write(`${file ?? 'defaults and environment'}: valid\n`);
    else for (const problem of problems) processScreen.write(`${formatProblem(problem)}\n`);
    process.exitCode = problems.length === 0 ? EXIT.ok : EXIT.usage;
  });
  const print = config.command('print').description('print the configuration in force and where each key comes from');
  addOutputOption(print).action((options: OutputOptions) => {
    const loaded = loadSettings(globalOptions(print));
    if (options.output === 'json') {
      // Hides what the text form hides.
      const config: unknown = JSON.parse(JSON.stringify(loaded.config).replace(/(\w+:\/\/)[^/@\s"]+@/g, '$1***@'));
      processScreen.write(json({ config, sources: Object.fromEntries(loaded.sources) }));
    } else processScreen.write(printConfig(loaded));
  });
}
