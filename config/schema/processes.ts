import { z } from 'zod';
import { hostNameText, key, liveKey, optionalText, section } from '../keys.js';
import { isManagerName, managerNameProblem, managers } from '../managers.js';

export const managerName = () =>
  z
    .string()
    .refine(isManagerName, { error: ({ input }) => managerNameProblem(input) })
    .meta({
      range: [...managers, './FILE.mjs', 'package:NAME'].map((name) => `\`${name}\``).join(', '),
    });

export const agentsSchema = section('The agent host: one resource manager per function.', {
  manager: key(
    managerName(),
    'fixed',
    'Resource manager of functions without their own: a name, or a module ' +
      '(docs/adding-a-manager.md).',
    { path: 'module' },
  ),
  faasrm: key(
    z.enum(['serve', 'learn']),
    'serve',
    'With activation policy `faasrm`: publish the trained weights, or continue learning from ' +
      'the choices of hooks.',
  ),
  hostName: key(
    hostNameText(),
    null,
    'Name of this agent host, or aggregator, in messages; null: the host name.',
  ),
  intervalMs: key(
    z.int().min(100).max(600_000),
    10_000,
    'Length of a mean-field step on this side.',
  ),
  resident: key(
    z.int().min(1).max(10_000_000),
    1000,
    'Agents kept in memory; the others are suspended as checkpoints.',
  ),
  trajectories: key(
    z.boolean(),
    true,
    'Record the steps of agents that learn in stream `gleaner_trajectories`.',
  ),
  registry: section(
    'State of functions in NATS: entries of `gleaner_functions`, weights and tables.',
    {
      forgetAfterS: key(
        z.number().min(1).max(315_360_000),
        2_592_000,
        'The state of a function without activations for this long is deleted.',
      ),
    },
  ),
  aware: section(
    'Manager `aware`: the learner and its life cycle; see `holdOffline` in `functions.overrides`.',
    {
      base: key(
        z.enum(['simppo', 'firm']),
        'simppo',
        'Learner of each function: `simppo` (PPO, from the shipped policy) or `firm` (DDPG of ' +
          'FIRM, untrained).',
      ),
      embedding: key(
        z.boolean(),
        false,
        'Use the shipped meta-learner: agents see an embedding of their function, and new ones ' +
          'start from the most similar serving agent.',
      ),
      episodeSteps: key(
        z.int().min(1).max(10_000),
        100,
        'Control steps with activations in one episode.',
      ),
      windowEpisodes: key(
        z.int().min(2).max(1000),
        10,
        'Episodes per window; a phase lasts at least one window. A change restarts every life ' +
          'cycle.',
      ),
    },
  ),
  concurrency: section(
    "Tuner of the actions' `concurrency` limit, which `gleaner actions follow` writes. Each step " +
      'is a new revision, and so causes cold starts.',
    {
      search: key(
        z.enum(['off', 'q-learning', 'hill-climbing']),
        'off',
        'Search for the limit; `off`: none. `q-learning` never stops exploring: a tenth of its ' +
          'steps is random.',
      ),
      least: key(z.int().min(1).max(500), 10, 'Lowest limit that is tried ...'),
      most: key(
        z.int().min(1).max(500),
        310,
        '... and highest; a whole number of steps above the lowest.',
      ),
      step: key(z.int().min(1).max(500), 20, 'Between two limits.'),
      holdS: key(
        z.number().min(1).max(86_400),
        30,
        'Each limit is held for at least this long ...',
      ),
      holdActivations: key(
        z.int().min(1).max(1_000_000),
        100,
        '... and for this many activations.',
      ),
    },
  ),
});

export const aggregatorSchema = section('The mean-field aggregator.', {
  intervalMs: key(
    z.int().min(100).max(600_000),
    10_000,
    'How often totals and prices are published.',
  ),
});

export const simulatorSchema = section(
  'The simulated invoker host and the shipped workload (`--platform simulated | docker`).',
  {
    workload: key(
      optionalText(),
      null,
      "Workload by name or path: Gleaner's format, or a trace; null: azure-ten.",
      { path: 'name' },
    ),
    speed: key(
      z.number().positive().max(1000),
      1,
      'Multiple of real time of the simulated host; real containers run in real time.',
    ),
    repeat: key(z.boolean(), true, 'Start the workload again when it ends.'),
    seed: key(
      z.int().min(0).max(4_294_967_295).nullable(),
      null,
      "Seed of everything random; null: the workload's.",
    ),
    cores: key(
      z.number().positive().max(1024).nullable(),
      null,
      "Cores of the simulated host; null: the workload's.",
    ),
    prefix: key(
      z.string().regex(/^wsk[a-z]+\d+$/, 'must be like wskdemo0'),
      'wskgleaner0',
      'Name prefix of the real containers (`--platform docker`).',
    ),
  },
);

export const logSchema = section('Logging: one JSON object per line on stderr.', {
  level: liveKey(
    z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    'info',
    'Least level that is written.',
  ),
});
