import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { join } from 'node:path';
import {
  type Field,
  Message,
  message,
} from '../../../../openwhisk-plugin/host/kubernetes/protobuf.js';
import { temporaryFolder } from '../../../support/temporary-folder.js';

export interface StubPod {
  readonly n: number;
  readonly sandbox: string;
  container: string;
  pid: number;
  address: string;
  labels: Record<string, string>;
  /** CRI state of the container: 0 created, 1 running, 2 exited. */
  state: number;
  startedAt: bigint;
  resources: { period: number; quota: number; shares: number; memory: number };
}

type Answer = Buffer | { status: number; detail: string };

/** A container runtime's socket with pods that a test moves, and containerd's events. */
export async function stubRuntime(options: { events?: boolean } = {}) {
  const pods = new Map<string, StubPod>();
  const calls: string[] = [];
  const streams = new Set<ServerHttp2Stream>();
  const sessions = new Set<ServerHttp2Session>();
  const state = {
    refuse: 0,
    silent: false,
    /** JSON of the runtime's configuration; empty: it shows none. */
    config: '',
    infoOf: (pod: StubPod): string => infoOf(pod),
    /** An answer is sent when this resolves, and says what was true before. */
    hold: (_method: string): Promise<void> | null => null,
  };
  const server = createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => undefined);
  });

  const answerTo = (method: string, request: Message): Answer => {
    const found = [...pods.values()];
    switch (method) {
      case 'Version':
        return message([1, '0.1.0'], [2, 'containerd'], [3, '1.6.20'], [4, 'v1']);
      case 'Status':
        return state.config === ''
          ? message([1, ''])
          : message([1, ''], [2, message([1, 'config'], [2, state.config])]);
      case 'ListPodSandbox': {
        const wanted = [...request.message(1).map(3)];
        const fits = found.filter((pod) => wanted.every(([k, v]) => pod.labels[k] === v));
        return message(...fits.map((pod): Field => [1, message([1, pod.sandbox])]));
      }
      case 'ListContainers': {
        const filter = request.message(1);
        const fits = found.filter(
          (pod) =>
            (filter.text(1) === '' || filter.text(1) === pod.container) &&
            (!filter.has(2) || filter.message(2).number(1) === pod.state),
        );
        return message(...fits.map((pod): Field => [1, listed(pod)]));
      }
      case 'ContainerStatus': {
        const pod = found.find((one) => one.container === request.text(1));
        if (pod === undefined) return { status: 5, detail: 'not%20found' };
        return message([1, statusOf(pod)], [2, message([1, 'info'], [2, state.infoOf(pod)])]);
      }
      case 'PodSandboxStatus': {
        const pod = found.find((one) => one.sandbox === request.text(1));
        if (pod === undefined) return { status: 5, detail: 'not%20found' };
        const labels = Object.entries(pod.labels).map(
          ([key, value]): Field => [7, message([1, key], [2, value])],
        );
        const status = message([1, pod.sandbox], [5, message([1, pod.address])], ...labels);
        return message([1, status], [2, message([1, 'info'], [2, sandboxInfo(pod)])]);
      }
      default:
        return { status: 12, detail: 'unknown method' };
    }
  };

  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const path = String(headers[':path']);
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const method = path.split('/').at(-1) ?? '';
      calls.push(method);
      if (state.silent) return;
      const begin = (): void =>
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc' },
          { waitForTrailers: true },
        );
      const end = (status: number, detail = ''): void => {
        stream.on('wantTrailers', () =>
          stream.sendTrailers({ 'grpc-status': String(status), 'grpc-message': detail }),
        );
        stream.end();
      };
      if (method === 'Subscribe' && options.events !== false) {
        begin();
        streams.add(stream);
        stream.on('close', () => streams.delete(stream));
        return;
      }
      const request = new Message(Buffer.concat(chunks).subarray(5));
      const answer: Answer =
        state.refuse > 0 ? { status: state.refuse, detail: 'refused' } : answerTo(method, request);
      const send = (): void => {
        begin();
        if (Buffer.isBuffer(answer)) {
          stream.write(framed(answer));
          end(0);
        } else end(answer.status, answer.detail);
      };
      const held = state.hold(method);
      if (held === null) send();
      else void held.then(send);
    });
  });
  const socketPath = join(temporaryFolder('cri'), 'containerd.sock');
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));

  return {
    socketPath,
    pods,
    calls,
    state,
    add(n: number, change: Partial<StubPod> = {}): StubPod {
      const pod: StubPod = {
        n,
        sandbox: idOf(n + 1000),
        container: idOf(n),
        pid: 100 + n,
        address: `10.77.0.${n + 1}`,
        labels: {
          'user-action-pod': 'true',
          'io.kubernetes.pod.name': `wskow-invoker-00-${n}-guest-f`,
          'io.kubernetes.pod.uid': `uid-${n}`,
        },
        state: 1,
        startedAt: 1_795_000_000_123_456_789n,
        resources: { period: 100_000, quota: 0, shares: 2, memory: 256 * 1024 * 1024 },
        ...change,
      };
      pods.set(pod.sandbox, pod);
      return pod;
    },
    /** `fields` of the event's own message. */
    tell(topic: string, ...fields: Field[]): void {
      const event = message([1, 'containerd.events'], [2, message(...fields)]);
      const envelope = message([2, 'k8s.io'], [3, topic], [4, event]);
      for (const stream of streams) stream.write(framed(envelope));
    },
    subscribers: () => streams.size,
    dropConnections(): void {
      for (const session of sessions) session.destroy();
    },
    close(): void {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}

export const idOf = (n: number): string => n.toString(16).padStart(64, '0');

function framed(bytes: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

const listed = (pod: StubPod): Buffer =>
  message([1, pod.container], [2, pod.sandbox], [3, message([1, 'user-action'])], [6, pod.state]);

function statusOf({ container, state, startedAt, resources }: StubPod): Buffer {
  const linux = message(
    [1, resources.period],
    [2, resources.quota],
    [3, resources.shares],
    [4, resources.memory],
    [10, resources.memory],
  );
  // The stamp does not fit into a number.
  const started = Buffer.concat([Buffer.from([5 * 8]), varint(startedAt)]);
  const before = message([1, container], [3, state]);
  return Buffer.concat([before, started, message([16, message([1, linux])])]);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

const infoOf = ({ pid }: StubPod): string => JSON.stringify({ pid, removing: false });

const sandboxInfo = ({ pid, resources }: StubPod): string =>
  JSON.stringify({
    pid: pid + 1000,
    config: {
      linux: {
        resources: {
          cpu_period: resources.period,
          ...(resources.quota === 0 ? {} : { cpu_quota: resources.quota }),
          cpu_shares: resources.shares,
          memory_limit_in_bytes: resources.memory,
        },
      },
    },
  });
