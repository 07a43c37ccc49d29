import type { Command } from 'commander';
import { EXIT } from '../../config/index.js';
import {
  colorsFor,
  configPath,
  json,
  left,
  loadSettings,
  plainText,
  processScreen,
  styled,
  table,
} from '../../runtime/index.js';
import { otherSettings, settingsForRestore } from '../../runtime/wiring/index.js';
import { findings, isManageable } from '../doctor/findings.js';
import { surveyConfigured } from '../doctor/survey.js';
import { addOutputOption, globalOptions, type OutputOptions } from './common.js';

export function addCommands(program: Command): void {
  const command = program
    .command('doctor')
    .description('check whether this host can be managed, and what to do if not (exit code 1)');
  addOutputOption(command).action(async (options: OutputOptions) => {
    const globals = globalOptions(command);
    const { config } = loadSettings(globals);
    const others = otherSettings(settingsForRestore(globals), config.hook.stateDir);
    const list = findings(await surveyConfigured(config, configPath(globals), others));
    const manageable = isManageable(list);
    if (options.output === 'json') processScreen.write(json({ manageable, findings: list }));
    else {
      const colors = colorsFor(processScreen, process.env);
      const paint = { ok: colors.green, warn: colors.yellow, fail: colors.red };
      processScreen.write(
        table(list, [
          styled('level', (row) => paint[row.level](row.level)),
          left('check', (row) => row.check),
          left('found', (row) => row.found),
        ]),
      );
      const advised = list.filter((row) => row.advice !== '');
      if (advised.length > 0) processScreen.write('\n');
      for (const row of advised)
        processScreen.write(
          `${paint[row.level](row.level)} ${plainText(row.check)}: ${row.advice}\n`,
        );
      processScreen.write(
        manageable ? '\nThis host can be managed.\n' : '\nThis host cannot be managed yet.\n',
      );
    }
    process.exitCode = manageable ? EXIT.ok : EXIT.failed;
  });
}
