import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ensureActionImage, InvokerEmulator } from '../../simulator/invoker-emulator/index.js';
import { KubernetesNode } from '../kubernetes/node.js';
import { PodContainerFactory } from '../kubernetes/pod-container.js';
import { IMAGE } from '../kubernetes/pods.js';
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
  /** Containers or pods beside the actions that Gleaner does not manage; a process too if any. */
  readonly siblings: number;
}

const outsidersOf = (kind: string, count: number, start: OutsiderStart): Outsiders =>
  new Outsiders(
    Object.fromEntries([
      ...Array.from({ length: count }, (_, i) => [`${kind}${i + 1}`, start]),
      ...(count > 0 ? [['process', asProcess]] : []),
    ]),
  );

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
  const outsiders = outsidersOf('container', siblings, container);
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

/** Stock pods on a containerd of its own, on a node only for actions. */
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
  // As a DaemonSet's on each node: among the Burstable pods, with a CPU request.
  const pod: OutsiderStart = async (program, folder) => {
    const made = await pods.create({
      isAction: false,
      request: 100,
      program: program('/out'),
      mounts: { '/out': folder },
    });
    cgroups.add(made.cgroup);
    return async () => {
      cgroups.delete(made.cgroup);
      await pods.remove(made);
    };
  };
  const outsiders = outsidersOf('pod', siblings, pod);
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
