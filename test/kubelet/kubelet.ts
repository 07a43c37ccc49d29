import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import type { KubernetesNode } from '../../bench/kubernetes/node.js';
import type { CgroupDriver } from '../../bench/kubernetes/pods.js';
import { makeGroup, removeGroups } from './cgroups.js';

/** What kubelet sets on its host. It gets files of its own, so that the host's stay unchanged. */
const SYSCTLS = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};
/** kubelet does not start without a clock rate, which a virtual machine may not show. */
const CPUINFO = '/proc/cpuinfo';
/** Folders with fixed names of which it gets its own. */
const OWN_FOLDERS = ['/var/lib', '/var/log'];

/** Policies of its CPU and memory managers. */
export type Managers = 'none' | 'static';

/**
 * A kubelet without an API server, whose static pods run in the node's containerd, below a cgroup
 * of its own. Its mounts are its own too: nothing on the host changes, even if it is killed.
 */
export class Kubelet {
  readonly folder: string;
  /** systemd's groups have fixed names. */
  readonly #cgroupRoot: string;
  readonly #program: string;
  readonly #node: KubernetesNode;
  readonly #driver: CgroupDriver;
  #process: ChildProcess | null = null;
  #managers: Managers = 'none';

  constructor(program: string, node: KubernetesNode, driver: CgroupDriver) {
    this.#program = program;
    this.#driver = driver;
    this.#cgroupRoot = driver === 'systemd' ? '/' : `/gleaner-kubelet-${process.pid}`;
    this.#node = node;
    this.folder = join(node.folder, 'kubelet');
    mkdirSync(join(this.folder, 'manifests'), { recursive: true });
  }

  get pid(): number {
    return this.#process?.pid ?? -1;
  }

  log(): string {
    return readFileSync(join(this.folder, 'kubelet.log'), 'utf8');
  }

  addPod(name: string, manifest: object): void {
    writeFileSync(join(this.folder, 'manifests', `${name}.json`), JSON.stringify(manifest));
  }

  removePod(name: string): void {
    rmSync(join(this.folder, 'manifests', `${name}.json`));
  }

  /** Waits for nothing: what starts are its pods. */
  start(managers: Managers = 'none'): void {
    const at = (...names: string[]): string => join(this.folder, ...names);
    if (this.#driver === 'cgroupfs') makeGroup(this.#cgroupRoot);
    const config = {
      ...configOf(this.folder, this.#node.socket),
      cgroupDriver: this.#driver,
      cgroupRoot: this.#cgroupRoot,
      ...(managers === 'static' ? STATIC : {}),
    };
    writeFileSync(at('config.yaml'), stringify(config));
    // kubelet refuses the state of another policy.
    if (managers !== this.#managers)
      for (const name of ['cpu', 'memory'])
        rmSync(at(`root/${name}_manager_state`), { force: true });
    this.#managers = managers;
    const log = openSync(at('kubelet.log'), 'a');
    const mounts = [...this.#mounts()].map(([from, to]) => `mount --bind ${from} ${to}`);
    const kubelet = `exec ${this.#program} --config=${at('config.yaml')} --root-dir=${at('root')} \
--cert-dir=${at('certificates')} --hostname-override=gleaner-node --v=2`;
    const args = ['--mount', '--propagation', 'private', 'sh', '-ec'];
    this.#process = spawn('unshare', [...args, [...mounts, kubelet].join('\n')], {
      stdio: ['ignore', log, log],
    });
  }

  /** Its pods go on running. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  }

  get isRunning(): boolean {
    const child = this.#process;
    return child !== null && child.exitCode === null && child.signalCode === null;
  }

  /** After the last pod has ended. */
  async remove(): Promise<void> {
    await this.stop('SIGTERM');
    if (this.#driver === 'systemd') spawnSync('systemctl', ['stop', 'kubepods.slice']);
    else await removeGroups(this.#cgroupRoot);
  }

  *#mounts(): Generator<[from: string, to: string]> {
    for (const folder of OWN_FOLDERS) {
      const own = join(this.folder, 'host', folder);
      mkdirSync(own, { recursive: true });
      yield [own, folder];
    }
    for (const [name, value] of Object.entries(SYSCTLS))
      yield* this.#file(join('/proc/sys', name), `${value}\n`);
    const processors = readFileSync(CPUINFO, 'utf8');
    if (!/MHz/.test(processors)) yield* this.#file(CPUINFO, `${processors}cpu MHz\t: 1000.0\n`);
  }

  *#file(to: string, text: string): Generator<[from: string, to: string]> {
    if (!existsSync(to)) return;
    const own = join(this.folder, 'host', to);
    mkdirSync(dirname(own), { recursive: true });
    writeFileSync(own, text);
    yield [own, to];
  }
}

/** The static policies need a core and memory that they never give away: that of `evictionHard`. */
const STATIC = {
  cpuManagerPolicy: 'static',
  reservedSystemCPUs: '0',
  memoryManagerPolicy: 'Static',
  reservedMemory: [{ numaNode: 0, limits: { memory: '10Mi' } }],
};

const configOf = (folder: string, socket: string) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  enableServer: false,
  readOnlyPort: 0,
  healthzPort: 0,
  registerNode: false,
  failCgroupV1: false,
  failSwapOn: false,
  containerRuntimeEndpoint: `unix://${socket}`,
  staticPodPath: join(folder, 'manifests'),
  podLogsDir: join(folder, 'logs'),
  volumePluginDir: join(folder, 'volume-plugins'),
  // Otherwise it changes the host's firewall, and removes images that it needs.
  makeIPTablesUtilChains: false,
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
  // Of this machine's disk and memory the fixture uses next to nothing.
  evictionHard: {
    'memory.available': '10Mi',
    'nodefs.available': '1%',
    'imagefs.available': '1%',
    'nodefs.inodesFree': '1%',
    'imagefs.inodesFree': '1%',
  },
  fileCheckFrequency: '5s',
});
