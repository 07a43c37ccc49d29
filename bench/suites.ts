import { defaultConfig } from '../config/index.js';
import { benchAgents } from './agents/agents.js';
import { benchLearning } from './agents/learning.js';
import { benchMemory } from './benefit/memory.js';
import { benchQuota } from './benefit/quota.js';
import { benchTrace } from './benefit/trace.js';
import { benchWeight } from './benefit/weight.js';
import { benchCli } from './cli/cli.js';
import type { SuiteOption, Suites } from './command-line.js';
import { benchConcurrency } from './concurrency/sweep.js';
import { benchTuner } from './concurrency/tuner.js';
import { benchEngines } from './engines/engines.js';
import { benchFidelity, FIDELITY_MANAGERS, FIDELITY_MODES } from './fidelity/fidelity.js';
import { benchFootprint } from './footprint/footprint.js';
import { benchLatency } from './hook/latency.js';
import { benchLimits } from './hook/limits.js';
import { benchPods } from './hook/pods.js';
import { benchFaasrm, benchSafeguard } from './hook/safeguard.js';
import { benchNewFunction } from './new-function/new-function.js';
import { oomReal } from './oom/real.js';
import { oomSimulated } from './oom/simulated.js';
import { benchScale } from './scale/scale.js';
import { benchSimulator, LONGEST, SIMULATOR_BENCH } from './simulator/simulator.js';
import { benchToy } from './toy/toy.js';

const HOST = 'Docker, tcpdump, nats-server and root, on a machine that does nothing else';
const IDLE_HOST = 'nothing but this process';

const number = (describes: string, normal?: number): SuiteOption => ({
  kind: 'number',
  describes,
  ...(normal === undefined ? {} : { default: normal }),
});
const flag = (describes: string): SuiteOption => ({ kind: 'flag', describes });
const seed = number('seed of all random numbers', 1);
const rounds = (normal: number): SuiteOption => number('rounds', normal);
const seconds = (normal: number, of = 'of each run'): SuiteOption =>
  number(`seconds ${of}`, normal);
const records: SuiteOption = {
  kind: 'text',
  describes: 'file of rounds; all rounds in it are reported',
};
const engine: SuiteOption = {
  kind: 'text',
  describes: 'what runs the actions',
  default: 'docker',
  among: ['docker', 'kubernetes'],
};
const first = number('first round to run', 1);

const { activations: SIMULATED, rounds: SIMULATIONS, lengths, functions } = SIMULATOR_BENCH;

/** Every benchmark by its name, in the order of the help. */
export const SUITES: Suites = {
  hook: {
    describes: 'added latency, lag, CPU, limit writes, decisions of the hook',
    needs: `${HOST}; with --engine kubernetes containerd and CNI plug-ins too`,
    options: {
      engine: {
        ...engine,
        describes: "`kubernetes`: only the hook's CPU, on pods and on Docker, in 2 rounds",
      },
      rounds: rounds(30),
      activations: number('activations of each half of a round', 1000),
      seconds: seconds(20, 'of steady load, at 10 and at 500 activations a second'),
    },
    run: async (v, log) =>
      v.text('engine') === 'kubernetes'
        ? benchPods({ seconds: v.number('seconds'), log })
        : [
            ...benchSafeguard(),
            ...(await benchLimits()),
            ...(await benchLatency({
              rounds: v.number('rounds'),
              activationsPerRound: v.number('activations'),
              seconds: v.number('seconds'),
              log,
            })),
          ],
  },
  safeguard: {
    describes: 'decisions only',
    needs: IDLE_HOST,
    options: {},
    run: async () => benchSafeguard(),
  },
  limits: {
    describes: 'limit writes, compared with updates by the Docker Engine',
    needs: HOST,
    options: {},
    run: () => benchLimits(),
  },
  faasrm: {
    describes: "decisions in which FaaSRM's network scores 8 and 64 options",
    needs: IDLE_HOST,
    options: {},
    run: async () => benchFaasrm(),
  },
  weight: {
    describes: "a weight policy compared with OpenWhisk's weights, paired, real containers",
    needs: `${HOST}; with --engine kubernetes containerd and CNI plug-ins instead of Docker`,
    options: {
      engine,
      policy: {
        kind: 'text',
        describes: 'weight policy',
        default: defaultConfig.decision.policy.weight,
      },
      load: number('offered load, share of all cores', 0.8),
      'user-memory': number('user-memory of the invoker, MB: 128 MB have 128 / it of 1024', 32_768),
      'sample-ms': number('ms between two samples of a running activation', 100),
      'without-revision': flag('a third run in each round: weights chosen at the start only'),
      siblings: number(
        'containers that are not managed in the same group, to see what they lose',
        0,
      ),
      trace: { kind: 'text', describes: 'file for where the time of each activation goes' },
      seconds: seconds(60),
      rounds: rounds(5),
      seed,
    },
    run: (v, log) =>
      benchWeight({
        engine: v.text('engine')!,
        policy: v.text('policy')!,
        userMemoryMb: v.number('user-memory'),
        sampleMs: v.number('sample-ms'),
        withoutRevision: v.flag('without-revision'),
        siblings: v.number('siblings'),
        trace: v.text('trace'),
        load: v.number('load'),
        seconds: v.number('seconds'),
        rounds: v.number('rounds'),
        seed: v.number('seed'),
        log,
      }),
  },
  quota: {
    describes: 'gains and slowdowns of functions with quotas, compared with fixed and its noise',
    needs: HOST,
    options: {
      policy: { kind: 'text', describes: 'activation policy', default: 'smallest-in-range' },
      manager: { kind: 'text', describes: 'manager of the agents', default: 'fixed' },
      seconds: seconds(60),
      rounds: rounds(5),
      seed,
    },
    run: (v, log) =>
      benchQuota({
        policy: v.text('policy')!,
        manager: v.text('manager')!,
        seconds: v.number('seconds'),
        rounds: v.number('rounds'),
        seed: v.number('seed'),
        log,
      }),
  },
  memory: {
    describes: 'loans under guarantee; harvest and OOM kills under faasrm',
    needs: HOST,
    options: {},
    run: (_, log) => benchMemory({ log }),
  },
  trace: {
    describes: 'the ten-function trace without and with Gleaner',
    needs: HOST,
    options: { minutes: number('minutes of the trace, of 60; all if absent') },
    run: (v, log) => benchTrace({ minutes: v.number('minutes') || 0, log }),
  },
  agents: {
    describes: 'that trace with learning SIMPPO agents: fixed, managed, fixed again (18 min)',
    needs: HOST,
    options: {
      rounds: rounds(6),
      first,
      play: number('rounds to run now', 6),
      minutes: number(
        "recorded minutes of each round; a whole round's share of the hour if absent",
      ),
      records,
    },
    run: (v, log) =>
      benchAgents({
        rounds: v.number('rounds'),
        first: v.number('first'),
        play: v.number('play'),
        minutes: Number.isNaN(v.number('minutes')) ? undefined : v.number('minutes'),
        records: v.text('records'),
        log,
      }),
  },
  learning: {
    describes: 'short activations until agents update their weights; CPU of 110 agents (4 min)',
    needs: HOST,
    options: { seconds: seconds(60, "of each measurement of the agents' CPU") },
    run: (v, log) => benchLearning({ seconds: v.number('seconds'), log }),
  },
  'new-function': {
    describes:
      'a new function in a running system: without limits, with the fallback, and with aware ' +
      '(11 min)',
    needs: HOST,
    options: { rounds: rounds(5), first, seconds: seconds(38, 'of each arm'), seed, records },
    run: (v, log) =>
      benchNewFunction({
        rounds: v.number('rounds'),
        first: v.number('first'),
        seconds: v.number('seconds'),
        seed: v.number('seed'),
        records: v.text('records'),
        log,
      }),
  },
  fidelity: {
    describes: 'predictions of the simulator compared with contended real containers',
    needs: HOST,
    options: {
      modes: { kind: 'list', describes: 'modes of CPU', among: FIDELITY_MODES },
      managers: { kind: 'list', describes: 'managers', among: FIDELITY_MANAGERS },
      load: number('offered load', 0.6),
      activations: number('activations of each function at least', 200),
      seconds: number('seconds of each run at most; as long as the activations need if absent'),
      seed,
    },
    run: (v, log) =>
      benchFidelity({
        modes: FIDELITY_MODES.filter((one) => v.list('modes').includes(one)),
        managers: FIDELITY_MANAGERS.filter((one) => v.list('managers').includes(one)),
        load: v.number('load'),
        activations: v.number('activations'),
        seconds: v.number('seconds') || 0,
        seed: v.number('seed'),
        log,
      }),
  },
  engines: {
    describes: "decisions and PPO steps of Gleaner's kernels and TensorFlow.js' backends",
    needs: `${IDLE_HOST}; tfjs-node after npm run tensorflow:install`,
    options: { rounds: rounds(7) },
    run: (v, log) => benchEngines({ rounds: v.number('rounds'), millis: 250, log }),
  },
  concurrency: {
    describes: 'throughput, latency, success at concurrency limits 10 to 310 (11 min)',
    needs: HOST,
    options: { rounds: rounds(5), seed },
    run: (v, log) => benchConcurrency({ rounds: v.number('rounds'), seed: v.number('seed'), log }),
  },
  tuner: {
    describes:
      'the concurrency tuner on a real container, against a sweep of its five limits (4 min a run)',
    needs: HOST,
    options: { seed, rounds: number('runs', 3), iterations: number('iterations of a run', 60) },
    run: (v, log) =>
      benchTuner({
        seed: v.number('seed'),
        seeds: v.number('rounds'),
        iterations: v.number('iterations'),
        log,
      }),
  },
  toy: {
    describes: 'PPO on the published toy environment, one agent and six',
    needs: IDLE_HOST,
    options: { quick: flag('fewer updates') },
    run: async (v, log) => benchToy({ quick: v.flag('quick'), log }),
  },
  cli: {
    describes: 'time of --version, status and functions against a running Gleaner, and of node',
    needs: 'nats-server',
    options: {
      rounds: rounds(15),
      old: { kind: 'text', describes: 'folder of another build, for the same rounds' },
    },
    run: (v, log) => benchCli({ rounds: v.number('rounds'), old: v.text('old'), log }),
  },
  simulator: {
    describes: 'the cluster model: activations a second, cost per activation, memory',
    needs: IDLE_HOST,
    options: {
      activations: number('activations of the headline figure', SIMULATED),
      rounds: rounds(SIMULATIONS),
      quick: flag('the rates alone'),
      long: flag('10^7 activations too'),
    },
    run: async (v, log) =>
      benchSimulator({
        activations: v.number('activations'),
        rounds: v.number('rounds'),
        lengths: v.flag('quick') ? [] : v.flag('long') ? [...lengths, LONGEST] : lengths,
        functions: v.flag('quick') ? [] : functions,
        log,
      }),
  },
  scale: {
    describes:
      "100,000 agents' sums, hand-over of 1000 functions, latency from decision to limit over NATS",
    needs: 'nats-server',
    options: { seconds: seconds(30) },
    run: (v, log) => benchScale({ seconds: v.number('seconds'), log }),
  },
  footprint: {
    describes: 'the hook beside 1000 functions and 2000 containers: memory, CPU, event loop',
    needs: 'tcpdump, nats-server and root; no Docker',
    options: {
      containers: number('containers', 2000),
      activations: number('activations a second', 500),
      seconds: seconds(60, 'of the measurement'),
      long: flag('an hour, with containers replaced all the time'),
      minutes: number('of --long', 60),
      churn: number('containers replaced a second, with --long', 5),
      busy: flag('containers whose processes use CPU between any two samples'),
      seed,
    },
    run: (v, log) =>
      benchFootprint({
        functions: 1000,
        containers: v.number('containers'),
        perSecond: v.number('activations'),
        seconds: v.flag('long') ? v.number('minutes') * 60 : v.number('seconds'),
        churn: v.flag('long') ? v.number('churn') : 0,
        busy: v.flag('busy'),
        seed: v.number('seed'),
        log,
      }),
  },
  oom: {
    describes: "OOM kills against those under users' limits, simulated and real activations",
    needs: `${HOST}; ${IDLE_HOST} with --quick`,
    options: {
      activations: number('simulated activations', 1_000_000),
      rounds: number('real activations', 10_000),
      quick: flag('simulated activations alone'),
      seed,
    },
    run: async (v, log) => [
      ...oomSimulated({ activations: v.number('activations'), seed: v.number('seed'), log }),
      ...(v.flag('quick')
        ? []
        : await oomReal({
            activations: v.number('rounds'),
            seed: v.number('seed'),
            policy: 'guarantee',
            log,
          })),
    ],
  },
};
