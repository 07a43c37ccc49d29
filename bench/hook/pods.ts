import { mean } from '../../experiments/statistics.js';
import { KubernetesNode } from '../kubernetes/node.js';
import { RUNS_ACTIONS } from '../kubernetes/pod-container.js';
import type { PodOptions } from '../kubernetes/pods.js';
import { atLeast, type BenchRow, none, row, within } from '../report.js';
import { initialize, noopContainers } from './containers.js';
import { serialLoad } from './http-load.js';
import { DOCKER, steady, WRITES_NOTHING } from './latency.js';

const PER_SECOND = 500;
const COUNT = 8;
const ROUNDS = 2;
const ACTION = '/guest/noop';

type Steady = Awaited<ReturnType<typeof steady>>;
type Hook = Readonly<Record<string, unknown>>;

interface Target {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly hook: Hook;
  readonly runs: Steady[];
}

/**
 * CPU of hook and tcpdump per activation on pods, whose packets are captured on all interfaces,
 * against Docker's bridge in the same run: pods on a CNI bridge, where each packet passes several
 * interfaces, and pods on point-to-point links. As in `bench -- hook` each activation's quota is
 * lowered at its start and restored at its end.
 */
export async function benchPods(options: {
  readonly seconds: number;
  readonly log: (line: string) => void;
}): Promise<BenchRow[]> {
  const node = new KubernetesNode(212);
  await node.start();
  try {
    const { containers, remove } = await noopContainers(COUNT);
    try {
      const docker = containers.map(({ address }) => address);
      const hook = { engine: 'kubernetes', engineSocket: node.socket };
      const targets: Target[] = [{ name: 'docker', addresses: docker, hook: DOCKER, runs: [] }];
      for (const network of ['bridge', 'ptp'] as const)
        targets.push({ name: network, addresses: await noopPods(node, network), hook, runs: [] });
      for (const { addresses } of targets) await serialLoad(addresses, ACTION, 1000);
      for (let round = 0; round < ROUNDS; round++) {
        for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
          const { addresses, runs, name } = target;
          const run = await steady(addresses, PER_SECOND, options.seconds, target.hook);
          runs.push(run);
          const { hookMicros, tcpdumpMicros } = run;
          options.log(
            `round ${round + 1}: ${name}: hook ${hookMicros.toFixed(0)} us, ` +
              `tcpdump ${tcpdumpMicros.toFixed(0)} us an activation`,
          );
        }
      }
      return rows(targets);
    } finally {
      await remove();
    }
  } finally {
    await node.remove();
  }
}

async function noopPods(node: KubernetesNode, network: PodOptions['network']): Promise<string[]> {
  const addresses: string[] = [];
  for (let i = 0; i < COUNT; i++) {
    const { address } = await node.pods.create({
      network,
      cpu: 2000,
      ...RUNS_ACTIONS,
    });
    await initialize(address);
    addresses.push(address);
  }
  return addresses;
}

const cost = ({ hookMicros, tcpdumpMicros }: Steady): number => hookMicros + tcpdumpMicros;

function rows([docker, ...pods]: readonly Target[]): BenchRow[] {
  const baseline = mean(docker!.runs.map(cost));
  const all = [docker!, ...pods].flatMap(({ runs }) => runs);
  const sum = (of: (run: Steady) => number): number =>
    all.reduce((total, run) => total + of(run), 0);
  return [
    ...pods.map(({ name, runs }) =>
      row(`hook.pods.${name}.cpu`, mean(runs.map(cost)), 'us', {
        baseline,
        goal: '<= 1.2x',
        note:
          `an activation at ${PER_SECOND}/s, baseline Docker's bridge; hook ` +
          `${mean(runs.map((run) => run.hookMicros)).toFixed(0)} and tcpdump ` +
          `${mean(runs.map((run) => run.tcpdumpMicros)).toFixed(0)}, Docker ` +
          `${mean(docker!.runs.map((run) => run.hookMicros)).toFixed(0)} and ` +
          `${mean(docker!.runs.map((run) => run.tcpdumpMicros)).toFixed(0)}; by round ` +
          runs.map((run, round) => (cost(run) / cost(docker!.runs[round]!)).toFixed(2)).join(' '),
      }),
    ),
    ...[docker!, ...pods].map(({ name, runs }) =>
      row(`hook.pods.${name}.lag.p50`, mean(runs.map(({ lag }) => lag.p50)), 'us', {
        note: `p99 ${mean(runs.map(({ lag }) => lag.p99)).toFixed(0)}`,
      }),
    ),
    ...[docker!, ...pods].map(({ name, runs }) =>
      within(
        `hook.pods.${name}.changes`,
        mean(runs.map(({ changes }) => changes)),
        2,
        0.1,
        'writes an activation',
        WRITES_NOTHING,
      ),
    ),
    none(
      'hook.pods.dropped',
      sum(({ drops }) => drops),
      'reports of loss',
      'activations that the tap missed cost the hook nothing',
    ),
    within(
      'hook.pods.seen',
      sum(({ seen }) => seen) / sum(({ sent }) => sent),
      1,
      0.005,
      'of those sent',
      'cost is divided by activations that were not seen',
    ),
    none(
      'hook.pods.failed',
      sum(({ failed }) => failed),
      'activations',
      'activations that fail are quicker than those that are answered',
    ),
    atLeast(
      'hook.pods.rate',
      Math.min(...all.map(({ rate }) => rate)),
      0.9 * PER_SECOND,
      'activations/s',
      'this machine was too slow or too busy for the load that the figures are for',
    ),
  ];
}
