import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { natsReference } from '../../broker/index.js';
import { configExample, configReference } from '../../config/index.js';
import { processScreen } from '../../runtime/index.js';
import { metricsReference } from '../../runtime/metrics/index.js';
import { errorsReference } from '../errors-reference.js';
import { commandReference } from '../reference.js';

/** The generated pages, by path below the project; its sources are read for the errors. */
export function generatedDocs(program: Command, project = '.'): ReadonlyMap<string, string> {
  return new Map([
    ['docs/reference/config.md', configReference()],
    ['docs/reference/cli.md', commandReference(program)],
    ['docs/reference/metrics.md', metricsReference()],
    ['docs/reference/nats.md', natsReference()],
    ['docs/reference/errors.md', errorsReference(project)],
    ['config/gleaner.example.yaml', configExample()],
  ]);
}

export function addDocs(program: Command): void {
  program
    .command('docs')
    .description(
      'write the generated reference pages (for developers; run it in the project folder)',
    )
    .option('--folder <path>', 'project folder', '.')
    .action((options: { folder: string }) => {
      for (const [path, text] of generatedDocs(program, options.folder)) {
        const file = join(options.folder, path);
        mkdirSync(join(file, '..'), { recursive: true });
        writeFileSync(file, text);
        processScreen.write(`${path}\n`);
      }
    });
}
