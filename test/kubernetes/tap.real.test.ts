import { execFile, execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { KubernetesNode } from '../../bench/kubernetes/node.js';
import type { Pod } from '../../bench/kubernetes/pods.js';
import type { Micros } from '../../config/index.js';
import { KubernetesEngine } from '../../openwhisk-plugin/host/kubernetes/index.js';
import {
  addressOf,
  type TapListener,
  type TapRequest,
} from '../../openwhisk-plugin/host/ports/index.js';
import { TcpdumpTap } from '../../openwhisk-plugin/host/tap/index.js';
import { Recorder } from '../openwhisk-plugin/host/docker/recorder.js';
import { until } from '../support/gleaner.js';
import { allowed } from '../support/slowness.js';
import { activationIds, sender, untilServing } from './load.js';
import { isWhole, onNode } from './on-node.js';

const node = new KubernetesNode(202);
const real = onNode(node);
const run = promisify(execFile);
/** Activations of one capture. */
const COUNT = isWhole ? 1000 : 200;

/** Addresses of this file's pods. */
const bound = new Set<number>();

class Seen implements TapListener {
  readonly ids: string[] = [];
  readonly anomalies: string[] = [];
  readonly losses: string[] = [];
  answers = 0;
  closes = 0;
  isListening = false;

  request({ identity }: TapRequest): void {
    this.ids.push(identity?.activationId ?? 'unknown');
  }
  answer(): void {
    this.answers++;
  }
  closed(): void {
    this.closes++;
  }
  listening(): void {
    this.isListening = true;
  }
  lost(reason: string, _bridge: string | null, detail: string): void {
    this.losses.push(`${reason}: ${detail}`);
  }
  counted(): void {}
  /** Others on this machine are called, too, and the clock of a virtual one jumps. */
  anomaly(kind: string, address: number): void {
    if (bound.has(address)) this.anomalies.push(kind);
  }
}

async function capture(t: ExecutionContext, interfaceName: string, pods: readonly Pod[]) {
  const tap = new TcpdumpTap();
  t.teardown(() => tap.stop());
  const seen = new Seen();
  tap.start(seen);
  tap.watch([{ interfaceName, networkName: 'pods', gateway: null }]);
  for (let i = 0; i < allowed(100) && !seen.isListening; i++) await sleep(50);
  for (const { address } of pods) bind(tap, address);
  return { tap, seen };
}

function bind(tap: TcpdumpTap, address: string): void {
  bound.add(addressOf(address));
  tap.bind(addressOf(address), (Date.now() * 1000) as Micros);
}

/** Everything sent was seen, once, with its identity, and answered; nothing was out of order. */
async function complete(t: ExecutionContext, seen: Seen, ids: readonly string[]): Promise<void> {
  for (let i = 0; i < allowed(60) && seen.answers < ids.length; i++) await sleep(50);
  await sleep(100);
  t.is(seen.ids.length, ids.length);
  t.deepEqual([...seen.ids].sort(), [...ids].sort());
  t.is(seen.answers, ids.length);
  t.deepEqual(seen.anomalies, []);
  t.deepEqual(seen.losses, []);
}

const addressesOf = (pods: readonly Pod[]): string[] => pods.map(({ address }) => address);

real('on all interfaces each activation is seen once, on bridge and ptp', async (t) => {
  const pods = [
    await node.pods.create(),
    await node.pods.create(),
    await node.pods.create({ network: 'ptp' }),
    await node.pods.create({ network: 'ptp' }),
  ];
  const { tap, seen } = await capture(t, 'any', pods);
  const addresses = addressesOf(pods);
  await run(process.execPath, ['-e', sender('1', COUNT / 4, addresses)]);
  await complete(t, seen, activationIds('1', COUNT / 4, addresses));
  await tap.stop();
  for (const pod of pods) await node.pods.remove(pod);
});

real('on the bridge, and on the veth of a ptp pod, each activation is seen once', async (t) => {
  const bridged = await node.pods.create();
  const routed = await node.pods.create({ network: 'ptp' });
  const route = execFileSync('ip', ['route', 'get', routed.address], { encoding: 'utf8' });
  const veth = /dev (\S+)/.exec(route)?.[1] ?? '';
  for (const [interfaceName, pod] of [
    [node.bridge, bridged],
    [veth, routed],
  ] as const) {
    const { tap, seen } = await capture(t, interfaceName, [pod]);
    await run(process.execPath, ['-e', sender('2', COUNT, [pod.address])]);
    await complete(t, seen, activationIds('2', COUNT, [pod.address]));
    await tap.stop();
    await node.pods.remove(pod);
  }
});

real('activations from a pod are seen, on the same bridge and from another subnet', async (t) => {
  const target = await node.pods.create();
  const neighbor = await node.pods.create();
  const elsewhere = await node.pods.create({ network: 'ptp' });
  const { tap, seen } = await capture(t, 'any', [target]);
  const ids: string[] = [];
  for (const [prefix, invoker] of [
    ['3', neighbor],
    ['4', elsewhere],
  ] as const) {
    const script = sender(prefix, COUNT / 2, [target.address]);
    t.is(Number(await node.pods.exec(invoker, process.execPath, '-e', script)), COUNT / 2);
    ids.push(...activationIds(prefix, COUNT / 2, [target.address]));
  }
  await complete(t, seen, ids);
  await tap.stop();
  for (const pod of [target, neighbor, elsewhere]) await node.pods.remove(pod);
});

real('in the pods’ own networks each activation is seen once', async (t) => {
  const engine = new KubernetesEngine({ socketPath: node.socket, capture: 'pod' });
  t.teardown(() => engine.stop());
  const pods = new Recorder();
  await engine.start(pods);
  const tap = new TcpdumpTap();
  t.teardown(() => tap.stop());
  const seen = new Seen();
  tap.start(seen);
  const [bridged, routed, neighbor] = [
    await node.pods.create(),
    await node.pods.create({ network: 'ptp' }),
    await node.pods.create({ labels: { 'user-action-pod': 'false' } }),
  ];
  await until(() => pods.started.length === 2, 10_000, 'both pods are known');
  tap.watch(pods.bridges);
  const targets = [bridged, routed];
  await until(() => tap.listeningOn.length === 2, 10_000, 'a capture runs in each pod');
  for (const { address } of targets) bind(tap, address);
  for (const pod of targets) await untilServing(pod);
  const addresses = addressesOf(targets);
  await run(process.execPath, ['-e', sender('8', COUNT / 4, addresses)]);
  const script = sender('9', COUNT / 4, addresses);
  t.is(Number(await node.pods.exec(neighbor, process.execPath, '-e', script)), COUNT / 2);
  const ids = ['8', '9'].flatMap((prefix) => activationIds(prefix, COUNT / 4, addresses));
  // The capture goes on in the network of a container that restarts.
  const before = tap.pids;
  tap.unbind(addressOf(bridged.address));
  await node.pods.restart(bridged);
  await until(() => pods.started.length === 3, 10_000, 'the new container is known');
  tap.watch(pods.bridges);
  t.deepEqual(tap.pids, before);
  bind(tap, bridged.address);
  await untilServing(bridged);
  await run(process.execPath, ['-e', sender('a', 50, [bridged.address])]);
  await complete(t, seen, [...ids, ...activationIds('a', 50, [bridged.address])]);
  await node.pods.remove(routed);
  await until(() => pods.bridges.length === 1, 10_000, 'the removed pod is none any more');
  tap.watch(pods.bridges);
  t.deepEqual(tap.listeningOn, [`${bridged.name}/${bridged.uid}`]);
  for (const pod of [bridged, neighbor]) await node.pods.remove(pod);
});

real('after a restart in the pod, and when its address moves, activations are seen', async (t) => {
  const first = await node.pods.create({ network: 'single' });
  await untilServing(first);
  const { tap, seen } = await capture(t, 'any', [first]);
  const ids: string[] = [];
  const send = async (prefix: string): Promise<void> => {
    const script = sender(prefix, 50, [first.address]);
    t.is(Number((await run(process.execPath, ['-e', script])).stdout), 50);
    ids.push(...activationIds(prefix, 50, [first.address]));
  };
  await send('5');
  tap.unbind(addressOf(first.address));
  await node.pods.restart(first);
  bind(tap, first.address);
  await untilServing(first);
  await send('6');
  tap.unbind(addressOf(first.address));
  await node.pods.remove(first);
  const second = await node.pods.create({ network: 'single' });
  t.is(second.address, first.address);
  bind(tap, second.address);
  await untilServing(second);
  await send('7');
  await complete(t, seen, ids);
  await tap.stop();
  await node.pods.remove(second);
});
