import { setImmediate } from 'node:timers/promises';
import { KubernetesNode } from '../../bench/kubernetes/node.js';
import { PodContainerFactory } from '../../bench/kubernetes/pod-container.js';
import { IMAGE } from '../../bench/kubernetes/pods.js';
import { actionSource, InvokerEmulator } from '../../simulator/invoker-emulator/index.js';
import { onNode } from './on-node.js';

const node = new KubernetesNode(213);
const real = onNode(node);

real('the invoker emulator runs an action in a stock pod beside a system pod', async (t) => {
  const { pods } = node;
  const factory = new PodContainerFactory(pods);
  const emulator = new InvokerEmulator({ image: IMAGE }, factory);
  t.teardown(() => emulator.stop());
  const system = await pods.create({ isAction: false, request: 100 });
  const action = { namespace: 'guest', name: 'cpu', version: '0.0.1', ...actionSource('cpu') };
  const cold = await emulator.invoke(action, { cpuMs: 5 });
  // A pod is free again when its logs have been collected, after the answer.
  await setImmediate();
  const warm = await emulator.invoke(action, { cpuMs: 5 });
  t.deepEqual([cold.kind, cold.cold, warm.kind, warm.cold], ['success', true, 'success', false]);
  t.is(warm.containerName, cold.containerName);
  // kubelet's least weight, 2 shares or a weight of 1, of the pod and of its container.
  const weights = pods.actionWeights().map(({ weight }) => weight);
  t.true(weights.length === 2 && weights.every((weight) => weight <= 2));
  await pods.remove(system);
});
