/** The installed service under a real systemd: only on a machine that a test may install on. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { KubernetesNode, missingForNode } from '../../bench/kubernetes/node.js';
import { layoutOf } from '../../cli/install/index.js';
import { kernelLimits } from '../kubernetes/kernel.js';
import { activation, untilServing } from '../kubernetes/load.js';
import { runContainer } from '../openwhisk-plugin/host/cgroup/real-containers.js';
import { gleaner, until } from '../support/gleaner.js';
import { docker, dockerAndTap, missing } from '../support/real-parts.js';
import { remainsOf } from '../support/remains.js';
import { allowed } from '../support/slowness.js';
import { numberIn, weightFile } from './kernel-file.js';

const UNIT = 'gleaner-hook.service';
const systemctl = (...args: string[]): string =>
  execFileSync('systemctl', args, { encoding: 'utf8' }).trim();
const property = (name: string): string => systemctl('show', UNIT, `--property=${name}`, '--value');
const journal = (): string =>
  execFileSync('journalctl', ['-u', UNIT, '-n', '40', '-o', 'short'], { encoding: 'utf8' });
const ready = (otherThan = 0): boolean =>
  property('ActiveState') === 'active' && Number(property('MainPID')) !== otherThan;

let made = 0;

/** A container that waits for its `/init`, and so has more than its user's weight. */
async function boosted(t: { teardown(clean: () => void): void }) {
  const name = `wskglsvc0_${++made}_guest_hello`;
  const id = await runContainer(name, 'setInterval(() => {}, 1000)');
  t.teardown(() => docker('rm', '-f', name));
  const file = weightFile(id);
  // runc and crun convert the user's 128 shares to a weight of 5 or 21.
  const user = systemctl('show', `docker-${id}.scope`, '--property=CPUWeight', '--value');
  await until(() => numberIn(file) > 2 * Number(user), 10_000, 'boosted');
  return { isUsers: () => numberIn(file) === Number(user) };
}

/** Whether services may be installed here. */
function isOwnMachine(t: ExecutionContext): boolean {
  if (process.env.GLEANER_TEST_OWN_MACHINE === '1') return true;
  t.log('NOT RUN: it installs services on this machine (npm run test:guest)');
  t.pass();
  return false;
}

/** Installs a hook until the end of the test; what doctor says of it. */
async function installed(t: ExecutionContext, hook: object): Promise<string> {
  mkdirSync('/etc/gleaner', { recursive: true });
  writeFileSync('/etc/gleaner/gleaner.yaml', stringify({ mode: 'enforce', hook }));
  t.teardown(() => gleaner(['remove']));
  const { code, err } = await gleaner(['install', '--part', 'hook']);
  if (code !== 0) t.log(journal());
  t.is(code, 0, err);
  await until(ready, 60_000, 'the service is ready');
  const doctor = await gleaner(['doctor', '--output', 'json']);
  t.is(doctor.code, 0, doctor.out);
  return doctor.out;
}

test.serial(
  'an installed hook is kept alive by systemd, and after each end every limit is the user’s',
  async (t) => {
    if (!isOwnMachine(t) || missing(t, dockerAndTap)) return;
    t.timeout(allowed(240_000));
    const doctor = await installed(t, { containerPrefix: 'wskglsvc0' });
    t.regex(doctor, /runs with this configuration/);

    const first = Number(property('MainPID'));
    const killed = await boosted(t);
    process.kill(first, 'SIGKILL');
    await until(killed.isUsers, 5000, 'restored after kill -9');
    await until(() => ready(first), 60_000, 'started again after kill -9');

    // A hook that hangs, 30 s after its last ping.
    const second = Number(property('MainPID'));
    const hanging = await boosted(t);
    process.kill(second, 'SIGSTOP');
    await until(hanging.isUsers, 40_000, 'restored after a hang');
    await until(() => ready(second), 60_000, 'started again after a hang');
    t.true(Number(property('NRestarts')) >= 2);

    const stopped = await boosted(t);
    const removed = await gleaner(['remove']);
    t.is(removed.code, 0, removed.err);
    t.true(stopped.isUsers());
    t.deepEqual(remainsOf(layoutOf('/')), []);
    t.is(property('LoadState'), 'not-found');
  },
);

test.serial('after `gleaner remove` on a Kubernetes node every limit is the user’s', async (t) => {
  if (!isOwnMachine(t)) return;
  t.deepEqual(missingForNode(), []);
  t.timeout(allowed(240_000));
  const node = new KubernetesNode(219, 'systemd', '/var/lib');
  t.teardown(() => node.remove());
  await node.start();
  const pod = await node.pods.create({ cpu: 1000 });
  await untilServing(pod);
  const limits = () => [pod.cgroup, node.pods.groupOf(pod)].map(kernelLimits);
  const users = limits();
  await installed(t, { engine: 'kubernetes', engineSocket: node.socket });

  let n = 0;
  let running = Promise.resolve();
  const isChanged = async (): Promise<boolean> => {
    await running;
    running = activation(pod, ++n, allowed(1000));
    await new Promise((resolve) => setTimeout(resolve, allowed(500)));
    return JSON.stringify(limits()) !== JSON.stringify(users);
  };
  await until(isChanged, 20_000, 'a limit is changed').catch((error: unknown) => {
    t.log(journal());
    throw error;
  });
  const removed = await gleaner(['remove']);
  t.is(removed.code, 0, removed.err);
  t.deepEqual(limits(), users);
  await running;
  t.deepEqual(remainsOf(layoutOf('/')), []);
});
