import type { Command } from 'commander';
import { MIN_DOCKER_API, programVersion, versionText } from '../../config/index.js';
import { json, processScreen } from '../../runtime/index.js';
import { addOutputOption, type OutputOptions } from './common.js';

export function addCommands(program: Command): void {
  const command = program.command('version').description('print the versions of Gleaner and Node');
  addOutputOption(command).action(({ output }: OutputOptions) => {
    const versions = {
      gleaner: programVersion(),
      node: process.versions.node,
      minEngineApi: MIN_DOCKER_API,
    };
    processScreen.write(output === 'json' ? json(versions) : `${versionText()}\n`);
  });
}
