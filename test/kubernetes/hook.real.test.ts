import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { KubernetesNode } from '../../bench/kubernetes/node.js';
import type { Pod } from '../../bench/kubernetes/pods.js';
import { gleaner, processesWith, startUp, until } from '../support/gleaner.js';
import { onNode } from './on-node.js';

const node = new KubernetesNode(206);
const real = onNode(node);

/** As an invoker calls: 20 ms of CPU, then `sleep` ms without. */
function activation({ address }: Pod, n: number, sleep: number): Promise<void> {
  const body = JSON.stringify({
    action_name: '/guest/idle',
    action_version: '0.0.1',
    activation_id: n.toString(16).padStart(32, '0'),
    api_key: 'key',
    deadline: String(Date.now() + 60_000),
    namespace: 'guest',
    transaction_id: 't',
    value: { busy: 20, sleep },
  });
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    const options = { host: address, port: 8080, path: '/run', method: 'POST', headers };
    const sent = request(options, (answer) => answer.resume().on('end', () => resolve()));
    sent.on('error', reject);
    sent.end(body);
  });
}

real('the hook lends a pod’s idle CPU, and a killed hook leaves no limit behind', async (t) => {
  const pod = await node.pods.create({ cpu: 1000 });
  const quotaOf = (group: string): number =>
    Number(readFileSync(join('/sys/fs/cgroup/cpu', group, 'cpu.cfs_quota_us'), 'utf8'));
  const ofContainer = (): number => quotaOf(join(pod.cgroup, pod.container));
  t.is(ofContainer(), 100_000);
  const up = startUp({
    mode: 'enforce',
    platform: 'host',
    hook: { engine: 'kubernetes', engineSocket: node.socket },
    decision: { controlShare: 0 },
  });
  t.teardown(up.clean);
  try {
    await until(() => /up \d+ s /.test(up.output()), 60_000, 'the hook runs');
    // The first activations show what the function uses.
    let n = 0;
    await until(
      async () => {
        const running = activation(pod, ++n, 400);
        await new Promise((resolve) => setTimeout(resolve, 200));
        const lowered = ofContainer() < 100_000;
        await running;
        return lowered;
      },
      60_000,
      'a quota is lowered',
    );
    t.is(quotaOf(pod.cgroup), 100_000, 'the pod keeps its own');
    const doctor = await gleaner(['--config', up.config, 'doctor']);
    t.regex(doctor.out, /containerd .*; 1 action pods run/);
    const long = activation(pod, ++n, 8000);
    await until(() => ofContainer() < 100_000, 5000, 'the quota of a long activation is lowered');
    const hook = processesWith(up.folder).find(({ args }) => / hook( |$)/.test(args));
    if (hook === undefined) throw new Error('no hook runs');
    process.kill(hook.pid, 'SIGKILL');
    await until(() => ofContainer() === 100_000, 10_000, 'the user limit is back');
    await long;
  } catch (error) {
    t.log(up.output().slice(-3000));
    throw error;
  }
  await up.clean();
  t.is(ofContainer(), 100_000);
  await node.pods.remove(pod);
});
