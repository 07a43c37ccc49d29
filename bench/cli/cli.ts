import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from '../../experiments/statistics.js';
import { GleanerProcess } from '../benefit/gleaner-process.js';
import { type BenchRow, precondition, row } from '../report.js';

interface CliBench {
  readonly rounds: number;
  /** Folder of another build, which is measured in the same rounds. */
  readonly old?: string | undefined;
  readonly log: (line: string) => void;
}

/** Seconds, on a quiet machine. */
const GOALS = { '--version': 0.15, status: 0.25, functions: 0.25 } as const;
const COMMANDS = Object.keys(GOALS) as (keyof typeof GOALS)[];
const START_MILLIS = 120_000;
/** The aggregator knows that it has all parts 15 s after its start. */
const WARM_MILLIS = 20_000;

/**
 * Wall time of commands against a running Gleaner, in turn with that of a Node which does nothing.
 */
export async function benchCli({ rounds, old, log }: CliBench): Promise<BenchRow[]> {
  const here = fileURLToPath(new URL('../../..', import.meta.url));
  const builds = old === undefined ? [here] : [here, resolve(old)];
  const gleaner = new GleanerProcess({
    platform: 'simulated',
    dashboard: { listen: null },
    metrics: { hook: null, agents: null, aggregator: null },
  });
  const times = new Map<string, number[]>();
  const failures: string[] = [];
  const measure = (name: string, args: readonly string[]): void => {
    const begun = performance.now();
    const { status } = spawnSync(process.execPath, args, { stdio: 'ignore' });
    times.set(name, [...(times.get(name) ?? []), (performance.now() - begun) / 1000]);
    if (status !== 0) failures.push(args.join(' '));
  };
  try {
    await gleaner.start(START_MILLIS);
    await new Promise((done) => setTimeout(done, WARM_MILLIS));
    for (let round = 1; round <= rounds; round++) {
      measure('node', ['-e', '0']);
      for (const [i, folder] of builds.entries())
        for (const command of COMMANDS) {
          const main = join(folder, 'dist/cli/main.js');
          const settings = command.startsWith('-') ? [] : ['--config', gleaner.configFile];
          measure(`${command} ${i}`, [main, ...settings, command]);
        }
      log(`round ${round} of ${rounds}`);
    }
  } finally {
    await gleaner.stop();
  }
  const baseline = median(times.get('node')!);
  const isBundled = !readFileSync(join(here, 'dist/cli/query.js'), 'utf8').includes("'./run.js'");
  return [
    precondition('cli.bundled', isBundled ? 1 : 0, 'bundle', {
      holds: isBundled,
      needs: '1',
      why: 'the build found no esbuild, so each module is loaded for itself',
    }),
    precondition('cli.failures', failures.length, 'commands', {
      holds: failures.length === 0,
      needs: '0',
      why: `no answer was measured: ${failures[0]}`,
    }),
    row('cli.node', baseline, 's', { note: '`node -e 0`, the baseline of the other rows' }),
    ...COMMANDS.flatMap((command) =>
      builds.map((folder, i) => {
        const name = `cli.${command.replace('--', '')}${i === 0 ? '' : '.old'}`;
        const seconds = times.get(`${command} ${i}`)!;
        const range = `${Math.min(...seconds).toFixed(3)}-${Math.max(...seconds).toFixed(3)} s`;
        return row(name, median(seconds), 's', {
          baseline,
          ...(i === 0 ? { goal: `<= ${GOALS[command]}` } : {}),
          note: i === 0 ? range : `${range}, ${folder}`,
        });
      }),
    ),
  ];
}
