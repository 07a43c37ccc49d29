import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ensureActionImage, InvokerEmulator } from '../../simulator/invoker-emulator/index.js';
import { KubernetesNode } from '../kubernetes/node.js';
import { PodContainerFactory } from '../kubernetes/pod-container.js';
import { IMAGE, type PodOptions } from '../kubernetes/pods.js';
import { type BenchRow, none } from '../report.js';
import { containerBusyMillis, containersBusyMillis, groupBusyMillis } from './host-cpu.js';
import { asProcess, type OutsiderStart, Outsiders } from './outsiders.js';

const run = promisify(execFile);

/** What runs the actions of a bench: an engine, an invoker on it, and what is not managed. */
export interface ActionHost {
  readonly emulator: InvokerEmulator;
  /** Gleaner's settings for it. */
  readonly hook: Readonly<Record<string, unknown>>;
  readonly outsiders: Outsiders;
  /** CPU time so far of what functions ran in, ms. */
  busyMillis(): number;
  /** Preconditions, as they are now. */
  rows(tag: string): BenchRow[];
  stop(): Promise<void>;
}

export interface ActionHostOptions {
  /** Of the names of Docker's containers. */
  readonly prefix: string;
  readonly userMemoryMb: number;
  /** Containers or pods in the same group as the actions that Gleaner does not manage. */
  readonly siblings: number;
}

const siblingsOf = (kind: string, count: number, start: OutsiderStart) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${kind}${i + 1}`, start]));

/** Containers as OpenWhisk makes them on Docker. */
export async function dockerHost(options: ActionHostOptions): Promise<ActionHost> {
  const image = await ensureActionImage();
  const { prefix, userMemoryMb, siblings } = options;
  const emulator = new InvokerEmulator({
    image,
    prefix,
    userMemoryMb,
    pauseGraceMs: 600_000,
    logs: 'none',
  });
  const ids = new Set<string>();
  // Docker's default weight, and no name of an invoker.
  const container: OutsiderStart = async (program, folder) => {
    const args = ['run', '-d', '-v', `${folder}:/out`, '--entrypoint', '/bin/node', image];
    const { stdout } = await run('docker', [...args, ...program('/out')]);
    const id = stdout.trim();
    ids.add(id);
    return async () => {
      ids.delete(id);
      await run('docker', ['rm', '--force', id]);
    };
  };
  const outsiders = new Outsiders({
    ...siblingsOf('container', siblings, container),
    ...(siblings > 0 ? { process: asProcess } : {}),
  });
  await emulator.start();
  return {
    emulator,
    hook: { containerPrefix: 'wskgl' },
    outsiders,
    busyMillis: () =>
      [...ids].reduce((sum, id) => sum - containerBusyMillis(id), containersBusyMillis()),
    rows: () => [],
    async stop() {
      await outsiders.stop();
      await emulator.stop();
    },
  };
}

/** The kernel's least weight, by the file that has it: of OpenWhisk's pods without cpu-scaling. */
const STOCK_WEIGHT = { 'cpu.shares': 2, 'cpu.weight': 1 };

/** CPU request and limit of a Guaranteed system pod, millicores. */
const SYSTEM_CPU = 250;

/**
 * Stock pods on a containerd of its own, on a node only for actions. Beside them a Guaranteed
 * system pod and a process of the host.
 */
export async function podHost(options: ActionHostOptions): Promise<ActionHost> {
  const node = new KubernetesNode(211);
  await node.start();
  const { pods } = node;
  const { userMemoryMb, siblings } = options;
  const emulator = new InvokerEmulator(
    { image: IMAGE, userMemoryMb },
    new PodContainerFactory(pods),
  );
  const cgroups = new Set<string>();
  const systemPod =
    (cpu: PodOptions): OutsiderStart =>
    async (program, folder) => {
      const mounts = { '/out': folder };
      const made = await pods.create({ ...cpu, isAction: false, program: program('/out'), mounts });
      cgroups.add(made.cgroup);
      return async () => {
        cgroups.delete(made.cgroup);
        await pods.remove(made);
      };
    };
  const outsiders = new Outsiders({
    // Among the Burstable pods, as a DaemonSet's with a CPU request.
    ...siblingsOf('burstable', siblings, systemPod({ request: 100 })),
    guaranteed: systemPod({ cpu: SYSTEM_CPU }),
    process: asProcess,
  });
  return {
    emulator,
    hook: { engine: 'kubernetes-dedicated', engineSocket: node.socket },
    outsiders,
    busyMillis: () =>
      [...cgroups].reduce((sum, group) => sum - groupBusyMillis(group), groupBusyMillis(pods.top)),
    rows: (tag) => [
      none(
        `${tag}.not-stock`,
        pods.actionWeights().filter(({ file, weight }) => weight !== STOCK_WEIGHT[file]).length,
        'pods or containers',
        'the weights are not those of pods without a CPU request',
      ),
    ],
    async stop() {
      await outsiders.stop();
      await emulator.stop();
      await node.remove();
    },
  };
}
