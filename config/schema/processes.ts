import { z } from 'zod';
import { hostNameText, key, optionalText, section } from '../keys.js';
import { isManagerName, managerNameProblem, managers } from '../managers.js';

export const managerName = () =>
  z
    .string()
    .refine(isManagerName, { error: ({ input }) => managerNameProblem(input) })
    .meta({
      range: `${managers.map((name) => `\`${name}\``).join(', ')}, \`./FILE.mjs\` or \`package:NAME\``,
    });

export const agentsSchema = section('The agent host: one resource manager per function.', {
  manager: key(
    managerName(),
    'greedy',
    'Resource manager of functions without one of their own: by name, or a module of your own (docs/adding-a-manager.md).',
    { path: 'module' },
  ),
  faasrm: key(
    z.enum(['serve', 'learn']),
    'serve',
    'Where activation policy `faasrm` is used: give hooks the weights there are, or learn on from what they draw inside the range.',
  ),
  hostName: key(hostNameText(), null, 'Name of this agent host in messages; null: the host name.'),
  intervalMs: key(
    z.int().min(100).max(600_000),
    10_000,
    'Length of a mean-field step on this side.',
    { unit: 'ms' },
  ),
  resident: key(
    z.int().min(1).max(10_000_000),
    1000,
    'Agents kept in memory; the others rest as checkpoints.',
  ),
  trajectories: key(
    z.boolean(),
    true,
    'Record the steps of agents that learn in stream `gleaner_trajectories`.',
  ),
  registry: section(
    'What is kept of functions in NATS: entries of `gleaner_functions`, weights and tables of their own.',
    {
      forgetAfterS: key(
        z.number().min(1).max(315_360_000),
        2_592_000,
        'What is kept of a function that was not called for so long is taken away; it begins anew when it is called again.',
        { unit: 's' },
      ),
    },
  ),
  aware: section(
    'Manager `aware`: what lives under its life cycle, and how long its parts are; `functions.overrides` has `holdOffline`.',
    {
      base: key(
        z.enum(['simppo', 'firm']),
        'simppo',
        "Learner of each function: `simppo`, PPO that begins with the shipped policy; `firm`, FIRM's DDPG, which begins with nothing.",
      ),
      embedding: key(
        z.boolean(),
        false,
        'Let the shipped meta-learner tell agents which function they have, and new ones which serving agent to begin like.',
      ),
      episodeSteps: key(
        z.int().min(1).max(10_000),
        100,
        'Control steps with calls of one episode.',
      ),
      windowEpisodes: key(
        z.int().min(2).max(1000),
        10,
        'Episodes that are judged together: as long a phase lasts at least. What a function came to with other numbers is not taken up after a change.',
      ),
    },
  ),
  concurrency: section(
    "The tuner of actions' `concurrency` limit, which `gleaner actions follow` writes. Every step is a new revision, and so cold starts.",
    {
      search: key(
        z.enum(['off', 'q-learning', 'hill-climbing']),
        'off',
        'How a limit is searched; `off`: none is tuned. `q-learning` explores for ever: a tenth of its steps is at random.',
      ),
      least: key(z.int().min(1).max(500), 10, 'Lowest limit that is tried ...'),
      most: key(
        z.int().min(1).max(500),
        310,
        '... and highest; a whole number of steps above the lowest.',
      ),
      step: key(z.int().min(1).max(500), 20, 'Between two limits.'),
      holdS: key(z.number().min(1).max(86_400), 30, 'Each limit is held for at least so long ...', {
        unit: 's',
      }),
      holdActivations: key(z.int().min(1).max(1_000_000), 100, '... and so many activations.'),
    },
  ),
});

export const aggregatorSchema = section('The mean-field aggregator.', {
  intervalMs: key(
    z.int().min(100).max(600_000),
    10_000,
    'How often totals and prices are published.',
    { unit: 'ms' },
  ),
});

export const simulatorSchema = section(
  'The simulated invoker host and the shipped workload (`--platform simulated | docker`).',
  {
    workload: key(
      optionalText(),
      null,
      "Workload by name or path: Gleaner's format, or a trace; null: azure-ten.",
      {
        path: 'name',
      },
    ),
    speed: key(
      z.number().positive().max(1000),
      1,
      'Multiple of real time of the simulated host; real containers run in real time.',
    ),
    repeat: key(z.boolean(), true, 'Begin the workload again when it is over.'),
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
  level: key(
    z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    'info',
    'Least level that is written.',
    {
      reload: true,
    },
  ),
});
