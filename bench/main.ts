import { parseArgs } from 'node:util';
import { benchAgents } from './agents/agents.js';
import { benchLearning } from './agents/learning.js';
import { benchConcurrency } from './concurrency/sweep.js';
import { benchTuner } from './concurrency/tuner.js';
import { benchEngines } from './engines/engines.js';
import { benchFidelity, FIDELITY_MANAGERS, FIDELITY_MODES } from './fidelity/fidelity.js';
import { benchFootprint } from './footprint/footprint.js';
import { benchLatency } from './hook/latency.js';
import { benchLimits } from './hook/limits.js';
import { benchFaasrm, benchSafeguard } from './hook/safeguard.js';
import { benchNewFunction } from './new-function/new-function.js';
import { oomReal } from './oom/real.js';
import { oomSimulated } from './oom/simulated.js';
import { type BenchRow, json, table } from './report.js';
import { benchScale } from './scale/scale.js';
import { benchSimulator, LONGEST, SIMULATOR_BENCH } from './simulator/simulator.js';
import { benchToy } from './toy/toy.js';
import { benchMemory } from './worth/memory.js';
import { benchQuota } from './worth/quota.js';
import { benchTrace } from './worth/trace.js';
import { benchWeight } from './worth/weight.js';

/**
 * `npm run bench -- <name> [--output json] [--rounds N] [--seconds N] [--load X] [--seed N] [--policy P] [--manager M]
 * [--modes M,..] [--managers M,..] [--calls N] [--containers N] [--churn N] [--first N] [--play N] [--records FILE] [--quick] [--long] [--busy]`.
 * Every bench prints a table; with `--output json` an array of `{name, value, unit, baseline, ratio}`. Progress goes to stderr.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    output: { type: 'string', default: 'table' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    calls: { type: 'string' },
    load: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string', default: '1' },
    containers: { type: 'string' },
    churn: { type: 'string' },
    first: { type: 'string' },
    play: { type: 'string' },
    records: { type: 'string' },
    policy: { type: 'string', default: 'smallest-in-range' },
    manager: { type: 'string', default: 'fixed' },
    modes: { type: 'string' },
    managers: { type: 'string' },
    quick: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    busy: { type: 'boolean', default: false },
  },
});

const log = (line: string): void => console.error(line);

type Numbered =
  | 'rounds'
  | 'seconds'
  | 'calls'
  | 'load'
  | 'minutes'
  | 'seed'
  | 'containers'
  | 'churn'
  | 'first'
  | 'play';

function number(name: Numbered, otherwise: number): number {
  const text = values[name];
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!(value > 0)) throw new RangeError(`--${name} ${text}: not a positive number`);
  return value;
}

/** A list such as `--modes weight,quota`; absent: all. */
function among<T extends string>(name: 'modes' | 'managers', known: readonly T[]): readonly T[] {
  const given = values[name]?.split(',') ?? known;
  const wrong = given.find((each) => !known.some((one) => one === each));
  if (wrong !== undefined) throw new RangeError(`--${name} ${wrong}: not one of ${known.join(', ')}`);
  return known.filter((one) => given.includes(one));
}

const benches: Record<string, () => Promise<BenchRow[]>> = {
  hook: async () => [
    ...benchSafeguard(),
    ...(await benchLimits()),
    ...(await benchLatency({
      rounds: number('rounds', 30),
      callsPerRound: number('calls', 1000),
      seconds: number('seconds', 20),
      log,
    })),
  ],
  safeguard: async () => benchSafeguard(),
  faasrm: async () => benchFaasrm(),
  limits: () => benchLimits(),
  weight: () =>
    benchWeight({
      load: number('load', 0.8),
      seconds: number('seconds', 60),
      rounds: number('rounds', 5),
      seed: number('seed', 1),
      log,
    }),
  trace: () => benchTrace({ minutes: number('minutes', 0), log }),
  agents: () =>
    benchAgents({
      rounds: number('rounds', 6),
      first: number('first', 1),
      play: number('play', 6),
      minutes: values.minutes === undefined ? undefined : number('minutes', 10),
      records: values.records,
      log,
    }),
  learning: () => benchLearning({ seconds: number('seconds', 60), log }),
  'new-function': () =>
    benchNewFunction({
      rounds: number('rounds', 6),
      first: number('first', 1),
      seconds: number('seconds', 60),
      seed: number('seed', 1),
      records: values.records,
      log,
    }),
  memory: () => benchMemory({ log }),
  fidelity: () =>
    benchFidelity({
      modes: among('modes', FIDELITY_MODES),
      managers: among('managers', FIDELITY_MANAGERS),
      load: number('load', 0.6),
      calls: number('calls', 200),
      seconds: number('seconds', 0),
      seed: number('seed', 1),
      log,
    }),
  simulator: async () => {
    const { calls, rounds, lengths, functions } = SIMULATOR_BENCH;
    return benchSimulator({
      calls: number('calls', calls),
      rounds: number('rounds', rounds),
      lengths: values.quick ? [] : values.long ? [...lengths, LONGEST] : lengths,
      functions: values.quick ? [] : functions,
      log,
    });
  },
  footprint: () =>
    benchFootprint({
      functions: 1000,
      containers: number('containers', 2000),
      perSecond: number('calls', 500),
      seconds: values.long ? number('minutes', 60) * 60 : number('seconds', 60),
      churn: values.long ? number('churn', 5) : 0,
      busy: values.busy,
      seed: number('seed', 1),
      log,
    }),
  oom: async () => {
    const [calls, real, seed] = [number('calls', 1_000_000), number('rounds', 10_000), number('seed', 1)];
    return [
      ...oomSimulated({ calls, seed, log }),
      ...(values.quick ? [] : await oomReal({ calls: real, seed, policy: 'guarantee', log })),
    ];
  },
  scale: () => benchScale({ seconds: number('seconds', 30), log }),
  concurrency: () => benchConcurrency({ rounds: number('rounds', 5), seed: number('seed', 1), log }),
  tuner: () =>
    benchTuner({ seed: number('seed', 1), seeds: number('rounds', 3), iterations: number('calls', 60), log }),
  engines: () => benchEngines({ rounds: number('rounds', 7), millis: 250, log }),
  toy: async () => benchToy({ quick: values.quick, log }),
  quota: () =>
    benchQuota({
      policy: values.policy,
      manager: values.manager,
      seconds: number('seconds', 60),
      rounds: number('rounds', 5),
      seed: number('seed', 1),
      log,
    }),
};

const names = positionals.length > 0 ? positionals : [];
if (names.length === 0 || names.some((name) => !(name in benches))) {
  console.error(`usage: npm run bench -- <${Object.keys(benches).join('|')}> [--output json]`);
  process.exit(2);
}
const rows: BenchRow[] = [];
for (const name of names) rows.push(...(await benches[name]!()));
console.log(values.output === 'json' ? json(rows) : table(rows));
if (rows.some(({ failed }) => failed)) process.exitCode = 1;
