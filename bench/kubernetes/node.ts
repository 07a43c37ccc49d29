import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CgroupDriver, IMAGE, Pods } from './pods.js';

/** Commands that the fixture needs, and Debian's package of each. */
const PROGRAMS = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  iptables: 'iptables',
};
const PLUGIN_FOLDERS = ['/opt/cni/bin', '/usr/lib/cni'];
const PLUGINS = ['bridge', 'ptp', 'host-local', 'loopback'];

/** What is missing on this machine, with the packages that bring it; empty: nothing. */
export function missingForNode(): string[] {
  const missing = Object.entries(PROGRAMS)
    .filter(([program]) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0)
    .map(([program, name]) => `${program} (package ${name})`);
  if (pluginFolder() === undefined)
    missing.push(`CNI plug-ins ${PLUGINS.join(', ')} (package containernetworking-plugins)`);
  if (process.getuid?.() !== 0) missing.push('root');
  return missing;
}

const pluginFolder = (): string | undefined =>
  PLUGIN_FOLDERS.find((folder) => PLUGINS.every((name) => existsSync(join(folder, name))));

/**
 * A Kubernetes node without kubelet: a containerd of its own (root, state, socket, networks) whose
 * pods are made as kubelet makes OpenWhisk's. `start` cleans up after itself if it fails.
 */
export class KubernetesNode {
  readonly folder: string;
  readonly socket: string;
  /** At most 15 characters, as the kernel's interface names are. */
  readonly bridge: string;
  /** Second number of the pods' networks. */
  readonly #net: number;
  readonly #driver: CgroupDriver;
  #containerd: ChildProcess | null = null;
  #pods: Pods | null = null;

  /** @param parent of its folder: a service of systemd does not see the host's `/tmp` */
  constructor(net = 201, driver: CgroupDriver = 'cgroupfs', parent = tmpdir()) {
    this.folder = mkdtempSync(join(parent, 'gleaner-node-'));
    this.socket = join(this.folder, 'containerd.sock');
    this.#net = net;
    this.bridge = `glk${process.pid}n${net}`;
    this.#driver = driver;
  }

  get pods(): Pods {
    if (this.#pods === null) throw new Error('the node was not started');
    return this.#pods;
  }

  async start(): Promise<void> {
    try {
      this.#writeFiles();
      await this.startContainerd();
      this.#importImage();
      // Beside Docker forwarding is refused, and bridged packets pass the same rules.
      this.#forwarding('-I');
      this.#pods = new Pods(this.socket, this.folder, this.#driver);
    } catch (error) {
      await this.remove();
      throw error;
    }
  }

  async startContainerd(): Promise<void> {
    const log = openSync(join(this.folder, 'containerd.log'), 'a');
    const child = spawn('containerd', ['--config', join(this.folder, 'containerd.toml')], {
      stdio: ['ignore', log, log],
    });
    this.#containerd = child;
    for (let i = 0; i < 300 && child.exitCode === null; i++) {
      if (this.#ctr('version').status === 0) return;
      await sleep(100);
    }
    throw new Error(`containerd does not answer:\n${this.log()}`);
  }

  /** Containers outlive it. */
  async killContainerd(): Promise<void> {
    await end(this.#containerd, 'SIGKILL');
    this.#containerd = null;
  }

  log(): string {
    return readFileSync(join(this.folder, 'containerd.log'), 'utf8').slice(-4000);
  }

  async remove(): Promise<void> {
    await this.#pods?.removeAll().catch((error: unknown) => console.error(error));
    this.#pods?.close();
    await end(this.#containerd, 'SIGTERM');
    this.#forwarding('-D');
    spawnSync('ip', ['link', 'del', this.bridge]);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #writeFiles(): void {
    const at = (...names: string[]): string => join(this.folder, ...names);
    const network = (name: string, type: object, subnet: string): void => {
      mkdirSync(at('cni', name), { recursive: true });
      const ipam = {
        type: 'host-local',
        dataDir: at('cni', 'addresses'),
        ranges: [[{ subnet }]],
        routes: [{ dst: '0.0.0.0/0' }],
      };
      const plugin = { ...type, ipMasq: false, ipam };
      const list = { cniVersion: '0.4.0', name: `gleaner-${name}`, plugins: [plugin] };
      writeFileSync(at('cni', name, '10-pods.conflist'), JSON.stringify(list));
    };
    const bridge = { type: 'bridge', bridge: this.bridge, isGateway: true, hairpinMode: true };
    network('bridge', bridge, `10.${this.#net}.0.0/24`);
    network('ptp', { type: 'ptp' }, `10.${this.#net}.1.0/24`);
    // One address beside the host's: the next pod gets the last one's.
    network('single', { type: 'ptp' }, `10.${this.#net}.2.0/30`);
    writeFileSync(
      at('containerd.toml'),
      containerdConfig(this.folder, this.socket, this.#driver, pluginFolder()),
    );
  }

  /**
   * One image for sandboxes, which sleep, and for actions, which get the host's programs mounted: a
   * C library and `sleep`, from the host's files.
   */
  #importImage(): void {
    const image = join(this.folder, 'image');
    mkdirSync(image);
    const layer = join(image, 'layer.tar');
    const shown = execFileSync('ldd', ['/bin/sleep'], { encoding: 'utf8' });
    const libraries = [...shown.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => String(path).slice(1));
    execFileSync('tar', ['-chf', layer, '-C', '/', 'bin/sleep', ...libraries]);
    const digest = createHash('sha256').update(readFileSync(layer)).digest('hex');
    const config = {
      architecture: { x64: 'amd64', arm64: 'arm64' }[process.arch as string],
      os: 'linux',
      config: { Entrypoint: ['/bin/sleep', 'infinity'] },
      rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
    };
    writeFileSync(join(image, 'config.json'), JSON.stringify(config));
    const manifest = [{ Config: 'config.json', RepoTags: [IMAGE], Layers: ['layer.tar'] }];
    writeFileSync(join(image, 'manifest.json'), JSON.stringify(manifest));
    const archive = join(this.folder, 'image.tar');
    execFileSync('tar', ['-cf', archive, '-C', image, 'manifest.json', 'config.json', 'layer.tar']);
    const { status, stderr } = this.#ctr('--namespace', 'k8s.io', 'images', 'import', archive);
    if (status !== 0) throw new Error(`the image cannot be imported: ${stderr}`);
  }

  #ctr(...args: string[]): { status: number | null; stderr: string } {
    return spawnSync('ctr', ['--address', this.socket, ...args], {
      encoding: 'utf8',
      timeout: 20_000,
    });
  }

  #forwarding(action: '-I' | '-D'): void {
    const net = `10.${this.#net}.0.0/16`;
    spawnSync('iptables', ['-w', action, 'FORWARD', '-s', net, '-d', net, '-j', 'ACCEPT']);
  }
}

const UNUSED = [
  ...['btrfs', 'zfs', 'devmapper', 'aufs'].map((name) => `io.containerd.snapshotter.v1.${name}`),
  'io.containerd.internal.v1.tracing',
  'io.containerd.tracing.processor.v1.otlp',
];

const containerdConfig = (
  folder: string,
  socket: string,
  driver: CgroupDriver,
  plugins = '',
): string => `
version = 2
root = "${folder}/root"
state = "${folder}/state"
disabled_plugins = ${JSON.stringify(UNUSED)}
[grpc]
  address = "${socket}"
[ttrpc]
  address = "${socket}.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${IMAGE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    ${runtimeOf('runc', `${folder}/cni/bridge`, driver)}
    ${['ptp', 'single'].map((name) => runtimeOf(name, `${folder}/cni/${name}`, driver)).join('')}
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${plugins}"
    conf_dir = "${folder}/cni/bridge"
`;

/** A runtime handler selects the network. */
const runtimeOf = (name: string, networks: string, driver: CgroupDriver): string => `
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${name}]
      runtime_type = "io.containerd.runc.v2"
      cni_conf_dir = "${networks}"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${name}.options]
        SystemdCgroup = ${driver === 'systemd'}
`;

async function end(child: ChildProcess | null, signal: NodeJS.Signals): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await gone;
}
