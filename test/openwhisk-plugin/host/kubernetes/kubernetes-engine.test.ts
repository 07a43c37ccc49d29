import test from 'ava';
import { millis } from '../../../../config/index.js';
import { EngineStatusError } from '../../../../openwhisk-plugin/host/engine/index.js';
import { CriClient } from '../../../../openwhisk-plugin/host/kubernetes/cri.js';
import { CriReader } from '../../../../openwhisk-plugin/host/kubernetes/cri-reader.js';
import { GrpcClient } from '../../../../openwhisk-plugin/host/kubernetes/grpc-client.js';
import { KubernetesEngine } from '../../../../openwhisk-plugin/host/kubernetes/index.js';
import { Recorder } from '../docker/recorder.js';
import { idOf, type StubPod, stubRuntime } from './stub-runtime.js';

const MIB = 1024 * 1024;

async function scripted(options: { every?: number; events?: boolean; deadline?: number } = {}) {
  const runtime = await stubRuntime(options);
  const engine = new KubernetesEngine({
    socketPath: runtime.socketPath,
    deadline: millis(options.deadline ?? 2000),
    reconcileEvery: millis(options.every ?? 3_600_000),
  });
  return {
    ...runtime,
    engine,
    recorder: new Recorder(),
    start(pod: StubPod): void {
      runtime.tell('/tasks/start', [1, pod.container], [2, pod.pid]);
    },
    exit(pod: StubPod, process = pod.container): void {
      runtime.tell('/tasks/exit', [1, pod.container], [2, process], [3, pod.pid]);
    },
    async close(): Promise<void> {
      await engine.stop();
      runtime.close();
    },
  };
}

test('action pods are announced with address and user limits before start resolves', async (t) => {
  const s = await scripted();
  s.add(1, { resources: { period: 100_000, quota: 50_000, shares: 512, memory: 256 * MIB } });
  s.add(2, { labels: { app: 'database' } });
  await s.engine.start(s.recorder);
  t.deepEqual(s.recorder.lines.slice(0, 3), [
    'bridges',
    'started wskow-invoker-00-1-guest-f',
    'reconciled',
  ]);
  const [found] = s.recorder.started;
  t.is(found?.id, idOf(1));
  t.is(found?.address, '10.77.0.2');
  t.is(found?.bridge, 'any');
  t.is(found?.pid, 101);
  // 1,795,000,000,123,456,789 ns.
  t.is(found?.startedAt as number, 1_795_000_000_123_456);
  // 50 ms of 100 ms; kubelet gives 1024 shares a core.
  t.like(found?.user, { shares: 512, quota: 500, memory: 256 * MIB, memoryAndSwap: 256 * MIB });
  t.like(found?.pod, { uid: 'uid-1', user: { shares: 512, quota: 500, memory: 256 * MIB } });
  await s.close();
});

test('a pod is known by its start event, even if the runtime shows it as created', async (t) => {
  const s = await scripted();
  await s.engine.start(s.recorder);
  const pod = s.add(3, { state: 0 });
  s.start(pod);
  setTimeout(() => {
    pod.state = 1;
  }, 20);
  await s.recorder.until((r) => r.started.length === 1);
  t.is(s.recorder.started[0]?.id, pod.container);
  await s.close();
});

test('the sandbox of a pod, other pods and ended containers are not announced', async (t) => {
  const s = await scripted();
  await s.engine.start(s.recorder);
  const pod = s.add(1);
  const other = s.add(2, { labels: { app: 'database' } });
  const ended = s.add(3, { state: 2 });
  s.tell('/tasks/start', [1, pod.sandbox], [2, 7]);
  s.start(other);
  s.start(ended);
  s.start(pod);
  await s.recorder.until((r) => r.started.length === 1);
  t.is(s.recorder.started[0]?.id, pod.container);
  await s.close();
});

test('the end of a probe is no end of the container', async (t) => {
  const s = await scripted();
  const pod = s.add(1);
  await s.engine.start(s.recorder);
  s.exit(pod, 'probe-1');
  s.tell('/tasks/oom', [1, pod.container]);
  await s.recorder.until((r) => r.lines.some((line) => line.startsWith('oom')));
  t.is(s.recorder.ended.length, 0);
  s.exit(pod);
  await s.recorder.until((r) => r.ended.length === 1);
  await s.close();
  t.pass();
});

test('after a restart in the same pod the new container owns the address', async (t) => {
  const s = await scripted();
  const pod = s.add(1);
  await s.engine.start(s.recorder);
  const first = { ...pod };
  pod.container = idOf(77);
  pod.pid = 900;
  // The end of the first container is reported late.
  s.start(pod);
  await s.recorder.until((r) => r.started.length === 2);
  s.exit(first);
  await s.recorder.until((r) => r.ended.length === 1);
  t.is(s.recorder.ended[0]?.id, first.container);
  t.is(s.recorder.started[1]?.address, first.address);
  await s.close();
});

test('a lost connection is opened again, and what changed meanwhile is found', async (t) => {
  const s = await scripted();
  const pod = s.add(1);
  await s.engine.start(s.recorder);
  s.pods.delete(pod.sandbox);
  s.add(2);
  s.dropConnections();
  await s.recorder.until((r) => r.ended.length === 1 && r.started.length === 2);
  t.true(s.recorder.lines.includes('down GLN_ENGINE_UNAVAILABLE'));
  t.is(s.recorder.started[1]?.id, idOf(2));
  await s.close();
});

test('a runtime that does not answer is reported and asked again', async (t) => {
  const s = await scripted({ deadline: 50 });
  s.add(1);
  s.state.silent = true;
  const started = s.engine.start(s.recorder);
  await s.recorder.until((r) => r.count('down GLN_ENGINE_UNAVAILABLE') >= 2);
  s.state.silent = false;
  await started;
  t.is(s.recorder.started.length, 1);
  await s.close();
});

test('a runtime without containerd’s events is listed again and again', async (t) => {
  const s = await scripted({ events: false });
  await s.engine.start(s.recorder);
  s.add(1);
  await s.recorder.until((r) => r.started.length === 1);
  s.pods.clear();
  await s.recorder.until((r) => r.ended.length === 1);
  t.is(s.subscribers(), 0);
  await s.close();
});

test('a container whose answer cannot be read hides no other', async (t) => {
  const s = await scripted();
  const odd = s.add(1);
  s.add(2);
  s.state.infoOf = (pod) => (pod === odd ? '{"pid":"none"}' : JSON.stringify({ pid: 5 }));
  await s.engine.start(s.recorder);
  t.deepEqual(
    s.recorder.started.map(({ id }) => id),
    [idOf(2)],
  );
  t.is(s.engine.unreadable, 1);
  await s.close();
});

test('a snapshot lists the running action pods without a subscription', async (t) => {
  const s = await scripted();
  s.add(1);
  s.add(2, { state: 2 });
  const found = await s.engine.snapshot();
  t.deepEqual(
    found.map(({ id }) => id),
    [idOf(1)],
  );
  t.false(s.calls.includes('Subscribe'));
  s.engine.close();
  s.close();
});

test('with captures in pods each pod is a capture point until its sandbox ends', async (t) => {
  const runtime = await stubRuntime();
  const engine = new KubernetesEngine({ socketPath: runtime.socketPath, capture: 'pod' });
  const recorder = new Recorder();
  const first = runtime.add(1);
  await engine.start(recorder);
  const nameOf = (n: number): string => `wskow-invoker-00-${n}-guest-f/uid-${n}`;
  // The stub's sandboxes have processes 1000 above those of their containers.
  const pointOf = (n: number) => ({
    interfaceName: nameOf(n),
    networkName: 'pods',
    gateway: null,
    namespaceOf: 1100 + n,
  });
  t.deepEqual(recorder.bridges, [pointOf(1)]);
  t.is(recorder.started[0]?.bridge, nameOf(1));
  const second = runtime.add(2);
  runtime.tell('/tasks/start', [1, second.container], [2, second.pid]);
  await recorder.until((r) => r.started.length === 2);
  t.deepEqual(recorder.bridges, [pointOf(1), pointOf(2)]);
  // A container that restarts is in the same network.
  runtime.tell('/tasks/exit', [1, first.container], [2, first.container], [3, first.pid]);
  first.container = idOf(11);
  first.pid = 111;
  runtime.tell('/tasks/start', [1, first.container], [2, first.pid]);
  await recorder.until((r) => r.started.length === 3);
  t.is(recorder.bridges.length, 2);
  runtime.pods.delete(second.sandbox);
  runtime.tell('/tasks/exit', [1, second.sandbox], [2, second.sandbox], [3, 1102]);
  await recorder.until((r) => r.bridges.length === 1);
  t.is(recorder.bridges[0]?.interfaceName, nameOf(1));
  await engine.stop();
  runtime.close();
});

test('two pods of one name have a capture point each', async (t) => {
  const runtime = await stubRuntime();
  const engine = new KubernetesEngine({ socketPath: runtime.socketPath, capture: 'pod' });
  const recorder = new Recorder();
  const first = runtime.add(1);
  const second = runtime.add(2);
  second.labels['io.kubernetes.pod.name'] = first.labels['io.kubernetes.pod.name'] ?? '';
  await engine.start(recorder);
  const points = recorder.bridges.map(({ interfaceName }) => interfaceName);
  t.is(new Set(points).size, 2);
  t.deepEqual(new Set(recorder.started.map(({ bridge }) => bridge)), new Set(points));
  await engine.stop();
  runtime.close();
});

test('a listing leaves the capture point of a container that started meanwhile', async (t) => {
  const runtime = await stubRuntime();
  const reader = new CriReader({ socketPath: runtime.socketPath, capture: 'pod' });
  let points: readonly unknown[] = [];
  reader.onBridges = (bridges) => {
    points = bridges;
  };
  const pod = runtime.add(1);
  await reader.inspect(pod.container);
  t.is(points.length, 1);
  // Its container has ended, and the next one starts while the answer is on its way.
  pod.state = 2;
  let send = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    runtime.state.hold = (method) => {
      if (method !== 'ListContainers') return null;
      runtime.state.hold = () => null;
      resolve();
      return new Promise((sent) => {
        send = sent;
      });
    };
  });
  const listing = reader.list();
  await asked;
  pod.container = idOf(11);
  pod.state = 1;
  await reader.inspect(pod.container);
  send();
  t.deepEqual((await listing).items, []);
  t.is(points.length, 1);
  pod.state = 2;
  await reader.list();
  t.is(points.length, 0, 'nothing has started in the pod again');
  reader.close();
  runtime.close();
});

test('the cgroup driver is the one that the default runtime is configured with', async (t) => {
  const s = await stubRuntime();
  const engine = new KubernetesEngine({ socketPath: s.socketPath, root: '/nonexistent' });
  const driverWith = async (config: unknown): Promise<string> => {
    s.state.config = typeof config === 'string' ? config : JSON.stringify(config);
    return (await engine.facts()).cgroupDriver;
  };
  // As containerd 1.6 shows its configuration.
  const containerd = (options: unknown) => ({
    containerd: {
      defaultRuntimeName: 'runc',
      runtimes: {
        runc: { runtimeType: 'io.containerd.runc.v2', options },
        other: { options: { SystemdCgroup: true } },
      },
    },
  });
  t.is(await driverWith(containerd({ SystemdCgroup: true })), 'systemd');
  t.is(await driverWith(containerd({ SystemdCgroup: false })), 'cgroupfs');
  t.is(await driverWith(containerd(null)), 'cgroupfs');
  t.is(await driverWith({ runtimes: [] }), 'cgroupfs', 'another form, and no kubepods.slice');
  t.is(await driverWith('no JSON'), 'cgroupfs');
  t.is(await driverWith(''), 'cgroupfs');
  engine.close();
  s.close();
});

test('only reading methods can be called', (t) => {
  const { grpc } = new CriClient('/nonexistent/containerd.sock');
  const on = { message: () => t.fail(), ended: () => t.fail() };
  for (const method of ['StopContainer', 'UpdateContainerResources', 'ExecSync', 'RunPodSandbox'])
    t.throws(() => grpc.stream(`/runtime.v1.RuntimeService/${method}`, Buffer.alloc(0), on), {
      message: /not a permitted call/,
    });
});

test('an error status and a missing socket are told apart', async (t) => {
  const s = await stubRuntime();
  const method = '/a.B/C';
  const client = new GrpcClient({ socketPath: s.socketPath, methods: new Set([method]) });
  const refused = await t.throwsAsync(client.call(method, Buffer.alloc(0)), {
    instanceOf: EngineStatusError,
  });
  t.is(refused?.status, 12);
  client.close();
  s.close();
  const absent = new GrpcClient({ socketPath: '/nonexistent/sock', methods: new Set([method]) });
  await t.throwsAsync(absent.call(method, Buffer.alloc(0)), { code: 'GLN_ENGINE_UNAVAILABLE' });
});
