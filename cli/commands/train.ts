import { type Command, Option } from 'commander';
import { SIMPPO_NAMES, type SimppoName } from '../../agents/simppo/index.js';
import { UsageError } from '../../config/index.js';
import { placeOf } from '../../experiments/compare/index.js';
import { faasrmRun, type Place, policyRun, runTraining } from '../../experiments/training/index.js';
import { type GlobalOptions, processScreen } from '../../runtime/index.js';
import type { ClusterMode } from '../../simulator/engine/index.js';
import { simulationSettings, warnIgnored } from '../simulation-settings.js';
import { globalOptions, makeOutputFolder, wholeNumber } from './common.js';
import {
  addHostOptions,
  type HostOptions,
  hostOptions,
  hostsOf,
  LARGE_HOSTS,
  listOf,
  offeredLoad,
  oneOf,
} from './simulation-options.js';

const FAASRM = 'faasrm';
/** Rules of the published simulator; only `faasrm` learns with them. */
const PUBLISHED = 'freyr-2021';
type TrainMode = ClusterMode | typeof PUBLISHED;

interface TrainOptions extends HostOptions, GlobalOptions {
  readonly manager: SimppoName | typeof FAASRM;
  readonly workloads?: Place[];
  readonly mode?: TrainMode;
  readonly loads: number[];
  readonly episodes: number;
  readonly seed: number;
  readonly beginWith?: string;
  readonly resume?: boolean;
  readonly out: string;
}

const PROFILES: Place = { workload: 'profiles-12', hosts: 1 };

const trainMode = oneOf('weight', 'quota', PUBLISHED);

const place =
  (hosts: number) =>
  (text: string): Place => {
    const place = placeOf(text);
    return { workload: place.workload, hosts: place.hosts ?? hosts };
  };

export function addCommands(program: Command): void {
  const command = program
    .command('train')
    .description(
      'train a base policy on the simulated cluster, with the part `train` of each workload',
    )
    .addOption(
      new Option('--manager <name>', 'learning manager, or the policy faasrm')
        .choices([...SIMPPO_NAMES, FAASRM])
        .default('simppo'),
    )
    .option(
      '--workloads <names>',
      'comma-separated; name@2: on two hosts (default profiles-12, with profiles-12-slos ' +
        'unless faasrm)',
      listOf(place(1)),
    )
    .option(
      '--mode <mode>',
      'weight (default) or quota: a policy decides in one; faasrm: quota (default) or freyr-2021',
      trainMode,
    )
    // Its name in earlier versions, which trained one policy in a list of modes.
    .addOption(new Option('--modes <mode>').argParser(trainMode).hideHelp())
    .on('option:modes', (value: string) => command.setOptionValue('mode', trainMode(value)))
    .option('--loads <list>', 'offered loads', listOf(offeredLoad), [0.7, 0.8, 0.9])
    .option('--episodes <n>', 'runs, each with its own seed', wholeNumber, 180)
    .option(
      '--seed <n>',
      'seed of the first episode; comparisons use small seeds',
      wholeNumber,
      10_001,
    )
    .option(
      '--begin-with <folder>',
      'policy of `single-agent` for the same mode, which `simppo` extends and refines',
    )
    .option('--resume', 'continue the training in --out');
  addHostOptions(command, LARGE_HOSTS)
    .option('--out <folder>', 'folder of checkpoint and learning curve', 'gleaner-policy')
    .action(async (own: TrainOptions, self: Command) => {
      const { out, ...options } = { ...own, ...globalOptions(self) };
      const training = trainingOf(options);
      makeOutputFolder(out);
      const recent = await runTraining(training, out, options.resume === true);
      const rewards = recent.map(({ reward }) => reward.toFixed(3)).join(' ');
      if (recent.length > 0)
        processScreen.write(
          `${recent.at(-1)!.updates} updates; last ${recent.length} rewards per step: ` +
            `${rewards}\n${out}\n`,
        );
    });
}

function trainingOf(options: Omit<TrainOptions, 'out'>) {
  const { manager, episodes, seed, loads } = options;
  const places =
    options.workloads ??
    (manager === FAASRM ? [PROFILES] : [PROFILES, { ...PROFILES, workload: 'profiles-12-slos' }]);
  const { settings, configured, ignored } = simulationSettings(options);
  warnIgnored(configured === undefined ? ignored : [...ignored, 'agents.manager, decision.policy']);
  for (const { workload } of places) hostsOf(workload, options, LARGE_HOSTS);
  const hosts = { said: hostOptions(options), otherwise: LARGE_HOSTS };
  const cluster = { places, loads, part: 'train', hosts, settings } as const;
  if (manager === FAASRM) {
    const { mode = 'quota' } = options;
    if (mode === 'weight')
      throw new UsageError('faasrm does not learn in mode weight', {
        hint: `--mode quota, or --mode ${PUBLISHED}`,
      });
    return faasrmRun({
      training:
        mode === PUBLISHED
          ? { on: PUBLISHED, workload: places[0]!.workload }
          : { on: 'cluster', ...cluster },
      episodes,
      seed,
    });
  }
  const { mode = 'weight' } = options;
  if (mode === PUBLISHED)
    throw new UsageError(`${manager} does not learn in mode ${PUBLISHED}`, {
      hint: '--mode weight, or --mode quota',
    });
  return policyRun({ manager, mode, episodes, seed, ...cluster }, options.beginWith);
}
