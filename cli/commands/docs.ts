import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { natsReference } from '../../broker/index.js';
import { configExample, configReference, errorsReference } from '../../config/index.js';
import { processScreen } from '../../runtime/index.js';
import { metricsReference } from '../../runtime/metrics/index.js';
import { commandReference } from '../reference.js';

/** The generated pages, by path below the project's folder. */
export function generatedDocs(program: Command): ReadonlyMap<string, string> {
  return new Map([
    ['docs/reference/config.md', configReference()],
    ['docs/reference/cli.md', commandReference(program)],
    ['docs/reference/metrics.md', metricsReference()],
    ['docs/reference/nats.md', natsReference()],
    ['docs/reference/errors.md', errorsReference()],
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
      for (const [path, text] of generatedDocs(program)) {
        const file = join(options.folder, path);
        mkdirSync(join(file, '..'), { recursive: true });
        writeFileSync(file, text);
        processScreen.write(`${path}\n`);
      }
    });
}
