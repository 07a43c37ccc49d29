import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { cpus } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { MIB, millis } from '../../config/index.js';
import {
  type Field,
  GrpcClient,
  type Message,
  message,
} from '../../openwhisk-plugin/host/kubernetes/index.js';
import { ACTION_SERVER } from './action-server.js';

const run = promisify(execFile);
const RUNTIME = '/runtime.v1.RuntimeService/';
const CALLS = [
  'RunPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'PodSandboxStatus',
  'CreateContainer',
  'StartContainer',
  'StopContainer',
  'RemoveContainer',
  'ExecSync',
  'UpdateContainerResources',
] as const;
/** Namespace modes of CRI. */
const POD = 0;
const CONTAINER = 1;
const V1_CONTROLLERS = [
  'cpu',
  'cpuacct',
  'memory',
  'pids',
  'freezer',
  'cpuset',
  'blkio',
  'devices',
];
const V2_CONTROLLERS = ['cpu', 'cpuset', 'memory', 'pids'];
/** Of sandboxes, which sleep, and of actions. */
export const IMAGE = 'localhost/gleaner-pod:1';
/** Of all pods of a node: not kubelet's name, so that a real one beside it is left alone. */
const TOP = `gleanerpods${process.pid}`;

/** How kubelet and the runtime make cgroups. `systemd`: only on cgroup v2, by a running systemd. */
export type CgroupDriver = 'cgroupfs' | 'systemd';

/** The drivers that this machine's pods can be made with. */
export const cgroupDrivers = (): CgroupDriver[] =>
  isUnified && existsSync('/run/systemd/system') ? ['cgroupfs', 'systemd'] : ['cgroupfs'];

export interface PodOptions {
  readonly network?: 'bridge' | 'ptp' | 'single';
  readonly memoryMiB?: number;
  /** CPU request and limit, millicores; 0: none, as in OpenWhisk without cpu-scaling. */
  readonly cpu?: number;
  /** CPU request without a limit, millicores. */
  readonly request?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** False: a system pod of the node, as a DaemonSet makes them. Default true. */
  readonly isAction?: boolean;
  /** Arguments of node; default: {@link ACTION_SERVER}. */
  readonly program?: readonly string[];
  /** Further mounts, path in the container → path on the host. */
  readonly mounts?: Readonly<Record<string, string>>;
}

/** Of a group: shares on v1, a weight on v2. */
export interface GroupWeight {
  readonly file: 'cpu.shares' | 'cpu.weight';
  readonly weight: number;
}

export interface Pod {
  readonly name: string;
  readonly uid: string;
  readonly sandbox: string;
  readonly address: string;
  /** The pod's cgroup below each controller's mount. */
  readonly cgroup: string;
  readonly config: Buffer;
  readonly resources: Buffer;
  readonly program: readonly string[];
  readonly mounts: readonly (readonly [string, string])[];
  /** CPU request of a Burstable pod, millicores. */
  readonly request: number;
  readonly isAction: boolean;
  container: string;
  attempt: number;
}

/** Makes pods over the CRI as kubelet makes those of OpenWhisk's invokers. */
export class Pods {
  readonly #client: GrpcClient;
  readonly #folder: string;
  readonly #driver: CgroupDriver;
  readonly #pods = new Set<Pod>();
  #count = 0;

  constructor(socketPath: string, folder: string, driver: CgroupDriver = 'cgroupfs') {
    this.#folder = folder;
    this.#driver = driver;
    this.#client = new GrpcClient({
      socketPath,
      methods: new Set(CALLS.map((name) => RUNTIME + name)),
      // Of a slow machine that removes many pods at once.
      deadline: millis(600_000),
    });
  }

  async create(options: PodOptions = {}): Promise<Pod> {
    const { network = 'bridge', memoryMiB = 256, cpu = 0, request = 0, labels = {} } = options;
    const { isAction = true, program = ['-e', ACTION_SERVER], mounts = {} } = options;
    const n = ++this.#count;
    const uid = randomUUID();
    const name = isAction ? `wskow-invoker-00-${n}-guest-f${n}` : `node-agent-${n}`;
    const names = [TOP, ...(cpu > 0 ? [] : ['burstable']), `pod${uid}`];
    const cgroup = this.#driver === 'systemd' ? slicePath(names) : `/${names.join('/')}`;
    const shares = sharesOf(cpu > 0 ? cpu : request);
    const limits = { shares, cpu, memoryMiB };
    if (this.#driver === 'systemd') await makePodSlice(basename(cgroup), limits);
    else makePodGroup(cgroup, limits);
    const ofAction = { 'user-action-pod': 'true', invoker: 'invoker0', name };
    const all = {
      ...(isAction ? ofAction : {}),
      'io.kubernetes.pod.name': name,
      'io.kubernetes.pod.namespace': 'openwhisk',
      'io.kubernetes.pod.uid': uid,
      ...labels,
    };
    const logs = join(this.#folder, 'logs', uid);
    mkdirSync(logs, { recursive: true });
    const resources = message(
      [1, 100_000],
      [2, cpu * 100],
      [3, shares],
      [4, memoryMiB * MIB],
      [10, memoryMiB * MIB],
    );
    const namespaces = message([1, POD], [2, CONTAINER], [3, POD]);
    const linux = message([1, cgroup], [2, message([1, namespaces])], [5, resources]);
    const config = message(
      [1, message([1, name], [2, uid], [3, 'openwhisk'])],
      [2, name],
      [3, logs],
      ...mapOf(6, all),
      [8, linux],
    );
    const handler = network === 'bridge' ? '' : network;
    const { sandbox } = await this.#call('RunPodSandbox', message([1, config], [2, handler])).then(
      (answer) => ({ sandbox: answer.text(1) }),
    );
    const status = await this.#call('PodSandboxStatus', message([1, sandbox]));
    const address = status.message(1).message(5).text(1);
    const pod = {
      name,
      uid,
      sandbox,
      address,
      cgroup,
      config,
      resources,
      program,
      mounts: Object.entries(mounts),
      request,
      isAction,
      container: '',
      attempt: 0,
    };
    this.#pods.add(pod);
    this.#weighLevels();
    await this.#startContainer(pod);
    return pod;
  }

  /** Ends the container and starts another one in the same pod, as kubelet does. */
  async restart(pod: Pod): Promise<void> {
    await this.stopContainer(pod);
    await this.#call('RemoveContainer', message([1, pod.container]));
    pod.attempt++;
    await this.#startContainer(pod);
  }

  async stopContainer(pod: Pod): Promise<void> {
    await this.#call('StopContainer', message([1, pod.container], [2, 0]));
  }

  /** Runs a command in the container, as a probe does. Returns what it prints. */
  async exec(pod: Pod, ...command: string[]): Promise<string> {
    const words = command.map((word): Field => [2, word]);
    const answer = await this.#call('ExecSync', message([1, pod.container], ...words, [3, 60]));
    if (answer.number(3) !== 0) throw new Error(`${command[0]} failed: ${answer.text(2)}`);
    return answer.text(1);
  }

  async remove(pod: Pod): Promise<void> {
    this.#pods.delete(pod);
    await this.#call('StopPodSandbox', message([1, pod.sandbox]));
    await this.#call('RemovePodSandbox', message([1, pod.sandbox]));
    if (this.#driver === 'systemd') await stopSlice(basename(pod.cgroup));
    else for (const controller of controllers()) await removeGroup(join(controller, pod.cgroup));
    this.#weighLevels();
  }

  /** The container's cgroup, as {@link Pod.cgroup}. */
  groupOf({ cgroup, container }: Pod): string {
    return join(
      cgroup,
      this.#driver === 'systemd' ? `cri-containerd-${container}.scope` : container,
    );
  }

  async removeAll(): Promise<void> {
    for (const pod of this.#pods) await this.remove(pod);
    if (this.#driver === 'systemd') return stopSlice(`${TOP}.slice`);
    for (const controller of controllers()) {
      await removeGroup(join(controller, TOP, 'burstable'));
      await removeGroup(join(controller, TOP));
    }
  }

  /** The group of all pods, below each controller's mount. */
  get top(): string {
    return this.#driver === 'systemd' ? slicePath([TOP]) : `/${TOP}`;
  }

  /** Weights in force of the action pods and of their containers. */
  actionWeights(): GroupWeight[] {
    return [...this.#pods]
      .filter(({ isAction }) => isAction)
      .flatMap((pod) => [pod.cgroup, this.groupOf(pod)].map(weightInForce));
  }

  close(): void {
    this.#client.close();
  }

  /** As kubelet weighs the pods of a node, and the Burstable ones among them by their requests. */
  #weighLevels(): void {
    if (this.#driver === 'systemd') return;
    let requests = 0;
    for (const { request } of this.#pods) requests += request;
    writeWeight(this.top, sharesOf(cpus().length * 1000));
    writeWeight(join(this.top, 'burstable'), sharesOf(requests));
  }

  async #startContainer(pod: Pod): Promise<void> {
    const mounts = ['/usr', '/lib', '/lib64', dirname(process.execPath)]
      .filter((folder) => existsSync(folder))
      .map((folder): Field => [7, message([1, folder], [2, folder], [3, true])]);
    for (const [inside, path] of pod.mounts) mounts.push([7, message([1, inside], [2, path])]);
    const words = [process.execPath, ...pod.program].map((word): Field => [3, word]);
    const namespaces = message([1, POD], [2, CONTAINER], [3, POD]);
    const config = message(
      [1, message([1, 'user-action'], [2, pod.attempt])],
      [2, message([1, IMAGE])],
      ...words,
      ...mounts,
      ...mapOf(9, {
        'io.kubernetes.container.name': 'user-action',
        'io.kubernetes.pod.name': pod.name,
        'io.kubernetes.pod.uid': pod.uid,
      }),
      [11, `user-action-${pod.attempt}.log`],
      [15, message([1, pod.resources], [2, message([3, namespaces])])],
    );
    const request = message([1, pod.sandbox], [2, config], [3, pod.config]);
    pod.container = (await this.#call('CreateContainer', request)).text(1);
    await this.#call('StartContainer', message([1, pod.container]));
  }

  #call(method: (typeof CALLS)[number], request: Buffer): Promise<Message> {
    return this.#client.call(RUNTIME + method, request);
  }
}

const mapOf = (field: number, entries: Readonly<Record<string, string>>): Field[] =>
  Object.entries(entries).map(([key, value]) => [field, message([1, key], [2, value])]);

/** kubelet's `MilliCPUToShares`: 1024 a core, at least 2. */
const sharesOf = (cpu: number): number => Math.max(2, Math.floor((cpu * 1024) / 1000));

/** What kubelet 1.34 and older, and containerd 1.6, make of shares on cgroup v2. */
export const weightOf = (shares: number): number => 1 + Math.floor(((shares - 2) * 9999) / 262_142);

export const ROOT = '/sys/fs/cgroup';
export const isUnified = existsSync(join(ROOT, 'cgroup.controllers'));
/** Mount points of the hierarchies. */
const controllers = (): string[] =>
  isUnified
    ? [ROOT]
    : V1_CONTROLLERS.map((name) => join(ROOT, name)).filter((at) => existsSync(at));

/** What a pod's group is made with. `cpu`: its limit, millicores. */
interface PodGroup {
  readonly shares: number;
  readonly cpu: number;
  readonly memoryMiB: number;
}

/** The path of a slice below its parents: systemd's `-` is a level, so names have `_` for it. */
function slicePath(names: readonly string[]): string {
  const parts = names.map((name) => name.replaceAll('-', '_'));
  return `/${parts.map((_, last) => `${parts.slice(0, last + 1).join('-')}.slice`).join('/')}`;
}

/** What kubelet does before it asks the runtime for the pod, with systemd [runc systemd driver]. */
async function makePodSlice(slice: string, { shares, cpu, memoryMiB }: PodGroup): Promise<void> {
  const properties = [
    ...['DefaultDependencies', 'b', 'false', 'CPUAccounting', 'b', 'true'],
    ...['MemoryAccounting', 'b', 'true', 'TasksAccounting', 'b', 'true'],
    ...['CPUWeight', 't', String(weightOf(shares))],
    ...['MemoryMax', 't', String(memoryMiB * MIB)],
    ...(cpu > 0 ? ['CPUQuotaPerSecUSec', 't', String(cpu * 1000)] : []),
  ];
  const manager = ['org.freedesktop.systemd1', '/org/freedesktop/systemd1'];
  await run('busctl', [
    ...['call', ...manager, 'org.freedesktop.systemd1.Manager'],
    ...['StartTransientUnit', 'ssa(sv)a(sa(sv))', slice, 'replace', String(properties.length / 3)],
    ...[...properties, '0'],
  ]);
  // The answer is only that it will be started.
  const group = join(ROOT, slicePath(slice.replace('.slice', '').split('-')));
  for (let attempt = 0; !existsSync(group) && attempt < 500; attempt++) await sleep(20);
}

async function stopSlice(slice: string): Promise<void> {
  await run('systemctl', ['stop', slice]);
}

/** What kubelet does before it asks the runtime for the pod. */
function makePodGroup(cgroup: string, { shares, cpu, memoryMiB }: PodGroup): void {
  const names = cgroup.split('/').filter(Boolean);
  for (const controller of controllers()) {
    let group = controller;
    for (const name of names) {
      const parent = group;
      group = join(group, name);
      if (isUnified) {
        const available = readFileSync(join(parent, 'cgroup.controllers'), 'utf8').split(/\s+/);
        const enabled = V2_CONTROLLERS.filter((name) => available.includes(name));
        writeFileSync(
          join(parent, 'cgroup.subtree_control'),
          enabled.map((n) => `+${n}`).join(' '),
        );
      }
      if (!existsSync(group)) mkdirSync(group);
      if (!controller.endsWith('/cpuset')) continue;
      // A group of v1 without cores or memory nodes takes no process.
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        if (readFileSync(join(group, file), 'utf8').trim() === '')
          writeFileSync(join(group, file), readFileSync(join(parent, file)));
    }
  }
  const write = (controller: string, file: string, value: number | string): void =>
    writeFileSync(join(ROOT, isUnified ? '' : controller, cgroup, file), String(value));
  writeWeight(cgroup, shares);
  if (isUnified) {
    if (cpu > 0) write('', 'cpu.max', `${cpu * 100} 100000`);
    write('', 'memory.max', memoryMiB * MIB);
    return;
  }
  if (cpu > 0) write('cpu', 'cpu.cfs_quota_us', cpu * 100);
  write('memory', 'memory.limit_in_bytes', memoryMiB * MIB);
}

const WEIGHT_FILE = isUnified ? 'cpu.weight' : 'cpu.shares';
const weightPath = (cgroup: string): string =>
  join(ROOT, isUnified ? '' : 'cpu', cgroup, WEIGHT_FILE);

const weightInForce = (cgroup: string): GroupWeight => ({
  file: WEIGHT_FILE,
  weight: Number(readFileSync(weightPath(cgroup), 'utf8')),
});

function writeWeight(cgroup: string, shares: number): void {
  if (existsSync(weightPath(cgroup)))
    writeFileSync(weightPath(cgroup), String(isUnified ? weightOf(shares) : shares));
}

export async function removeGroup(group: string): Promise<void> {
  for (let attempt = 0; existsSync(group) && attempt < 50; attempt++) {
    try {
      for (const entry of readdirSync(group, { withFileTypes: true }))
        if (entry.isDirectory()) await removeGroup(join(group, entry.name));
      rmdirSync(group);
    } catch {
      // Processes of the last container are ending.
      await sleep(20);
    }
  }
}
