import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, lstatSync, readFileSync, statSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { isIPv4 } from 'node:net';
import { availableParallelism, platform, release } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Config, type HookConfig, messageOf } from '../../config/index.js';
import { availableControllers, readMounts } from '../../openwhisk-plugin/host/cgroup/index.js';
import { managedByPrefix } from '../../openwhisk-plugin/host/docker/index.js';
import { KubernetesEngine } from '../../openwhisk-plugin/host/kubernetes/index.js';
import { ENGINE_LOCKS, engineLockPath, HookLock } from '../../openwhisk-plugin/host/lock/index.js';
import { foreignWriter, statePaths, withBroker } from '../../runtime/index.js';
import { type KubeletSurvey, surveyKubelet } from './kubelet.js';

/** The fields of the engine's answers that are judged. */
interface EngineNetwork {
  readonly Name: string;
  readonly Driver: string;
  readonly IPAM?: { readonly Config?: readonly { readonly Subnet?: string }[] | null };
}
interface EngineContainer {
  readonly Id: string;
  readonly Names: readonly string[];
  readonly NetworkSettings?: { readonly Networks?: Readonly<Record<string, object>> };
}
interface EngineInfo {
  readonly CgroupVersion?: string;
  readonly CgroupDriver?: string;
  readonly SwapLimit?: boolean;
  readonly SecurityOptions?: readonly string[];
}
interface EngineVersion {
  readonly Version: string;
  readonly ApiVersion: string;
  readonly MinAPIVersion?: string;
}

export interface EngineSurvey {
  readonly version: EngineVersion;
  readonly info: EngineInfo;
  readonly networks: readonly EngineNetwork[];
  readonly containers: readonly EngineContainer[];
  /** Other running containers. */
  readonly beside: number;
}

/** A Kubernetes node, as its container runtime and kubelet's files show it. */
export interface NodeSurvey {
  readonly runtime: string;
  readonly cgroupDriver: string;
  readonly pods: number;
  /** Action pods without an IPv4 address. */
  readonly unaddressed: number;
  /** Action pods without a CPU request: kubelet gives them the least weight, 2 shares. */
  readonly unrequested: number;
  /** Action pods by their quality of service, as kubelet's cgroups show it. */
  readonly levels: Readonly<Record<'Guaranteed' | 'Burstable' | 'BestEffort', number>>;
  readonly isDedicated: boolean;
  readonly kubelet: KubeletSurvey | null;
}

/** Facts about this host; `findings` judges them. */
export type Survey = Awaited<ReturnType<typeof surveyHost>>;

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

export function findProgram(name: string, extra: readonly string[] = []): string | null {
  if (name.includes('/')) return may(name, constants.X_OK) ? name : null;
  for (const folder of [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/local/sbin',
    '/usr/sbin',
    '/sbin',
    ...extra,
  ]) {
    if (folder !== '' && may(join(folder, name), constants.X_OK)) return join(folder, name);
  }
  return null;
}

/** `GET` on the engine's socket. */
async function engineGet<T>(socketPath: string, path: string, timeout: number): Promise<T> {
  const call = request({ socketPath, path, timeout, headers: { Host: 'docker' } });
  call.on('timeout', () =>
    call.destroy(Object.assign(new Error(`no answer within ${timeout} ms`), { code: 'ETIMEDOUT' })),
  );
  call.end();
  // Node closes a request whose answer switches protocols (101) without any other event.
  const closed = once(call, 'close').then(() => {
    throw new Error(`${path} was closed without an answer`);
  });
  const [response] = (await Promise.race([once(call, 'response'), closed])) as [IncomingMessage];
  const body = await text(response);
  if (response.statusCode !== 200)
    throw new Error(`${path}: status ${response.statusCode}: ${body.slice(0, 200)}`);
  return JSON.parse(body) as T;
}

/** As long as the hook waits for one answer. */
const ENGINE_TIMEOUT_MILLIS = 5000;

/** kubelet's least CPU shares. */
const LEAST_SHARES = 2;

async function surveyNode({ engine: kind, engineSocket }: HookConfig): Promise<NodeSurvey> {
  const engine = new KubernetesEngine({ socketPath: engineSocket });
  try {
    const facts = await engine.facts();
    const pods = await engine.snapshot();
    const groups = pods.map(({ pid }) => readText(`/proc/${pid}/cgroup`));
    const burstable = groups.filter((text) => text.includes('burstable')).length;
    const bestEffort = groups.filter((text) => text.includes('besteffort')).length;
    return {
      runtime: facts.engineVersion,
      cgroupDriver: facts.cgroupDriver,
      pods: pods.length,
      unaddressed: pods.filter(({ address }) => address === null || !isIPv4(address)).length,
      unrequested: pods.filter(({ user }) => user.shares <= LEAST_SHARES).length,
      levels: {
        Guaranteed: pods.length - burstable - bestEffort,
        Burstable: burstable,
        BestEffort: bestEffort,
      },
      isDedicated: kind === 'kubernetes-dedicated',
      kubelet: surveyKubelet(engineSocket),
    };
  } finally {
    engine.close();
  }
}

async function surveyEngine(
  hook: HookConfig,
): Promise<EngineSurvey | NodeSurvey | { readonly error: string; readonly code: string }> {
  const get = <T>(path: string): Promise<T> =>
    engineGet<T>(hook.engineSocket, path, ENGINE_TIMEOUT_MILLIS);
  try {
    if (hook.engine !== 'docker') return await surveyNode(hook);
    const version = await get<EngineVersion>('/version');
    const [info, networks, containers] = await Promise.all([
      get<EngineInfo>('/info'),
      get<EngineNetwork[]>('/networks'),
      get<EngineContainer[]>('/containers/json'),
    ]);
    const isManaged = managedByPrefix(hook.containerPrefix);
    const ours = containers.filter(({ Names }) =>
      Names.some((name) => isManaged(name.replace(/^\//, ''))),
    );
    const beside = containers.length - ours.length;
    return { version, info, networks, containers: ours, beside };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return { error: message, code: code ?? '' };
  }
}

function surveyCgroup() {
  const root = '/sys/fs/cgroup';
  const unified = existsSync(`${root}/cgroup.controllers`);
  const own = readText('/proc/self/cgroup');
  const cpu = unified ? root : `${root}/cpu`;
  // The engine's folder of containers, or the root while there is none.
  const folder =
    [`${cpu}/system.slice`, `${cpu}/docker`, cpu].find((path) => existsSync(path)) ?? root;
  return {
    unified,
    controllers: availableControllers() as readonly string[],
    /** False without CONFIG_CFS_BANDWIDTH. The root group of v2 never has cpu.max. */
    quotas: folder === root || existsSync(`${folder}/${unified ? 'cpu.max' : 'cpu.cfs_quota_us'}`),
    writable: may(folder, constants.W_OK),
    /** This process is in a private cgroup namespace. */
    privateNamespace:
      unified &&
      own.trim() === '0::/' &&
      !existsSync(`${root}/init.scope`) &&
      !existsSync(`${root}/system.slice`),
    pressure: existsSync('/proc/pressure/cpu'),
    memoryPeaks: !unified || canResetPeaks(folder),
    /** /proc hides other users' processes (hidepid). */
    processesHidden: readMounts('/').processesHidden,
    /** v1 controllers in use that are not mounted; Docker 20.10 then reports no OOM kills. */
    unmounted: unmountedControllers(own, readText('/proc/self/mounts')),
  };
}

/** From kernel 6.12 on `memory.peak` is writable, which resets it. v2's root group has none. */
function canResetPeaks(folder: string): boolean {
  const peak = statSync(join(folder, 'memory.peak'), { throwIfNoEntry: false });
  return peak === undefined
    ? !existsSync(join(folder, 'memory.current'))
    : (peak.mode & constants.S_IWUSR) !== 0;
}

/**
 * v1 hierarchies in /proc/<pid>/cgroup that /proc/<pid>/mounts lacks, such as those left by systemd
 * in a container.
 */
export function unmountedControllers(own: string, mounts: string): string[] {
  const mounted = new Set<string>();
  for (const line of mounts.split('\n')) {
    const [, , type, options = ''] = line.split(' ');
    if (type === 'cgroup') for (const option of options.split(',')) mounted.add(option);
  }
  return own
    .split('\n')
    .map((line) => line.split(':')[1] ?? '')
    .filter(
      (names) =>
        names !== '' &&
        !names.startsWith('name=') &&
        !names.split(',').every((name) => mounted.has(name)),
    );
}

function surveyTcpdump({ tcpdump: program, capture }: HookConfig) {
  const path = findProgram(program);
  const nsenter: 'unneeded' | 'found' | 'missing' =
    capture !== 'pod' ? 'unneeded' : findProgram('nsenter') === null ? 'missing' : 'found';
  if (path === null) return { path, version: '', refusal: null, nsenter };
  const shown = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 5000 });
  const version = /tcpdump version (\S+)/.exec(`${shown.stdout}${shown.stderr}`)?.[1] ?? '';
  // Compiling a filter for a device opens it, which needs the same rights as listening.
  const tried = spawnSync(path, ['-i', 'lo', '-d', 'tcp'], { encoding: 'utf8', timeout: 5000 });
  const refusal =
    tried.status === 0 ? null : (tried.stderr ?? '').trim().split('\n').at(-1) || 'did not run';
  return { path, version, refusal, nsenter };
}

/** Collects the facts about this host. Read-only. */
export async function surveyHost(
  hook: HookConfig,
  nats: {
    readonly servers: readonly string[];
    readonly binary: string | null;
    /** Connects; returns the error, or null. */
    readonly refusal: () => Promise<string | null>;
  },
  lockPath: string,
  configFile: string | null = null,
  ownHookSettings: string | null = null,
) {
  const capabilities = /^CapEff:\s*([0-9a-f]+)/m.exec(readText('/proc/self/status'))?.[1];
  return {
    platform: platform() as string,
    kernel: release(),
    cores: availableParallelism(),
    uid: process.getuid?.() ?? -1,
    /** Effective capabilities as a bit set; 0n where unknown. */
    capabilities: capabilities ? BigInt(`0x${capabilities}`) : 0n,
    inKubernetes: process.env.KUBERNETES_SERVICE_HOST !== undefined,
    engineKind: hook.engine,
    engine: await surveyEngine(hook),
    cgroup: surveyCgroup(),
    tcpdump: surveyTcpdump(hook),
    flock: findProgram('flock'),
    swapTotalKiB: Number(/^SwapTotal:\s*(\d+)/m.exec(readText('/proc/meminfo'))?.[1] ?? 0),
    stateDirWritable: writableOrMakeable(hook.stateDir),
    /** Users beside root who can change what root reads, by `foreignWriter`; null: none. */
    stateDirWriter: foreignWriter(hook.stateDir),
    lockFolderWriter: foreignWriter(ENGINE_LOCKS),
    configWriter: configFile === null ? null : foreignWriter(configFile),
    /** Process id of the hook with this configuration's state folder; null: none. */
    ownHook: HookLock.holder(lockPath),
    /** Platform, engine and folder of that hook; null: as configured, as far as is known. */
    ownHookSettings,
    /** A hook of root, or one of this state folder, manages this engine; null: unknown. */
    engineManaged: isHeld(
      [true, false].map((isRoot) => engineLockPath(hook.engineSocket, hook.stateDir, isRoot)),
    ),
    natsServer: nats.binary ?? findProgram('nats-server', ['.nats-server/bin']),
    natsServers: nats.servers,
    /** Error of connecting to the configured servers; null: connected, or none configured. */
    natsRefusal: nats.servers.length === 0 ? null : await nats.refusal(),
    openFiles: maxOpenFiles(),
  };
}

/** A process holds one of these locks; null: this user may not see one of them. */
export function isHeld(paths: readonly string[]): boolean | null {
  if (paths.some((path) => HookLock.holder(path) !== null)) return true;
  return paths.some(isHidden) ? null : false;
}

function isHidden(path: string): boolean {
  try {
    lstatSync(path, { throwIfNoEntry: false });
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** Soft limit of open files of this process; null: unknown. */
function maxOpenFiles(): number | null {
  const found = /^Max open files\s+(\d+|unlimited)/m.exec(readText('/proc/self/limits'))?.[1];
  if (found === undefined) return null;
  return found === 'unlimited' ? Number.POSITIVE_INFINITY : Number(found);
}

function writableOrMakeable(path: string): boolean {
  let at = path;
  while (!existsSync(at)) {
    const parent = join(at, '..');
    if (parent === at) return false;
    at = parent;
  }
  return may(at, constants.W_OK);
}

const NATS_TIMEOUT_MILLIS = 1000;

/** A survey with the given configuration. Connects to its NATS servers for a moment. */
export function surveyConfigured(
  config: Config,
  configFile: string | undefined,
  ownHookSettings: string | null = null,
): Promise<Survey> {
  const { servers, embedded } = config.nats;
  const refusal = (): Promise<string | null> =>
    withBroker(config, (broker) => broker.flush(), NATS_TIMEOUT_MILLIS).then(() => null, messageOf);
  return surveyHost(
    config.hook,
    { servers, binary: embedded.binary, refusal },
    statePaths(config).lock,
    configFile ?? null,
    ownHookSettings,
  );
}
