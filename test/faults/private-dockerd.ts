import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { allowed } from '../support/slowness.js';

const ip = (...args: string[]): void => void execFileSync('ip', args, { stdio: 'pipe' });

/**
 * A dockerd of a test's own, with a bridge, a containerd and folders of its own: it may be killed.
 * The containerd is no child of the dockerd's, as on Debian: containers outlive a dockerd that is
 * killed, and the next one ends them, unless it has live-restore.
 */
export class PrivateDockerd {
  readonly folder = mkdtempSync(join(tmpdir(), 'gln-dockerd-'));
  readonly socket = join(this.folder, 'docker.sock');
  readonly host = `unix://${this.socket}`;
  readonly dataRoot = join(this.folder, 'data');
  readonly #bridge: string;
  readonly #address: string;
  readonly #liveRestore: boolean;
  #containerd: ChildProcess | null = null;
  #dockerd: ChildProcess | null = null;

  /**
   * @param address of the bridge, with its prefix length; the network must be unused
   * @param liveRestore a dockerd that starts again keeps the containers instead of ending them
   */
  constructor(bridge: string, address: string, liveRestore = false) {
    this.#bridge = bridge;
    this.#address = address;
    this.#liveRestore = liveRestore;
  }

  async start(): Promise<void> {
    if (spawnSync('ip', ['link', 'show', this.#bridge]).status !== 0) {
      ip('link', 'add', this.#bridge, 'type', 'bridge');
      ip('addr', 'add', this.#address, 'dev', this.#bridge);
      ip('link', 'set', this.#bridge, 'up');
    }
    const at = (name: string): string => join(this.folder, name);
    const containerd = at('containerd.sock');
    if (this.#containerd === null) {
      writeFileSync(at('containerd.toml'), CONTAINERD_CONFIG);
      const folders = ['--root', at('containerd'), '--state', at('containerd-state')];
      this.#containerd = this.#spawn('containerd', [
        '--config',
        at('containerd.toml'),
        '--address',
        containerd,
        ...folders,
      ]);
      for (let i = 0; !existsSync(containerd) && i < allowed(300); i++) await sleep(100);
    }
    const args = [
      '--host',
      this.host,
      '--data-root',
      this.dataRoot,
      '--exec-root',
      at('exec'),
      '--pidfile',
      at('pid'),
    ];
    args.push('--containerd', containerd, '--bridge', this.#bridge);
    if (this.#liveRestore) args.push('--live-restore');
    const child = this.#spawn('dockerd', [
      ...args,
      '--iptables=false',
      '--ip6tables=false',
      '--ip-masq=false',
    ]);
    this.#dockerd = child;
    for (let i = 0; i < allowed(300) && child.exitCode === null; i++) {
      if (
        spawnSync('docker', ['--host', this.host, 'version'], { timeout: allowed(5000) }).status ===
        0
      )
        return;
      await sleep(100);
    }
    throw new Error(
      `dockerd does not answer:\n${readFileSync(at('dockerd.log'), 'utf8').slice(-4000)}`,
    );
  }

  /** Kills dockerd alone, with -9. */
  async kill(): Promise<void> {
    await end(this.#dockerd, 'SIGKILL');
    this.#dockerd = null;
  }

  /** Ends it and removes all that was its own. */
  async remove(): Promise<void> {
    const docker = (...args: string[]): string =>
      spawnSync('docker', ['--host', this.host, ...args], {
        encoding: 'utf8',
        timeout: allowed(20_000),
      }).stdout;
    const left = docker('ps', '--all', '--quiet').split('\n').filter(Boolean);
    if (left.length > 0) docker('rm', '--force', ...left);
    await end(this.#dockerd, 'SIGTERM');
    await end(this.#containerd, 'SIGTERM');
    spawnSync('ip', ['link', 'del', this.#bridge]);
    // dockerd mounts its folder on itself, and leaves that behind when it was killed once.
    spawnSync('umount', ['--recursive', '--lazy', this.dataRoot]);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
  #spawn(program: string, args: readonly string[]): ChildProcess {
    const log = openSync(join(this.folder, `${program}.log`), 'a');
    return spawn(program, args, { stdio: ['ignore', log, log] });
  }
}

/** The plug-in for Kubernetes would listen on a port. */
const CONTAINERD_CONFIG = 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n';

async function end(child: ChildProcess | null, signal: NodeJS.Signals): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await gone;
}
