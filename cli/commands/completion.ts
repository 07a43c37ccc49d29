import { Argument, type Command } from 'commander';
import { processScreen } from '../../runtime/index.js';
import { completionScript, SHELLS, type Shell } from '../completion.js';

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a completion script for a shell: `source <(gleaner completion bash)`')
    .addArgument(new Argument('<shell>', 'for which shell').choices([...SHELLS]))
    .action((shell: Shell) => processScreen.write(completionScript(program, shell)));
}
