import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const responder = fileURLToPath(new URL('./responder.js', import.meta.url));
const ip = (...args: string[]): Promise<unknown> => run('ip', args);

/**
 * Real packets without containers: a network namespace that answers on every address of a /16 (one
 * route, no interface each), behind a pair of virtual interfaces whose near end tcpdump listens to
 * as to a bridge. Needs root and `ip`.
 */
export class FarmNetwork {
  readonly #name: string;
  readonly bridge: string;
  /** Where requests come from. */
  readonly gateway: string;
  readonly #far: string;
  /**
   * Second byte of the containers' addresses; the pair's own are in another network, so that a
   * route decides and no neighbor is asked for.
   */
  readonly #net: number;
  #responder: ChildProcess | null = null;

  /**
   * `suffix`: letters and digits, at most 8, different for each farm on a machine; `net`: 0 to 127.
   */
  constructor(suffix: string, net: number) {
    this.#name = `glnfarm-${suffix}`;
    this.bridge = `glnf${suffix}`;
    this.#net = net;
    this.gateway = `10.${128 + net}.255.253`;
    this.#far = `10.${128 + net}.255.254`;
  }

  /** Address of container `n`, 0 to 64,999. */
  address(n: number): string {
    return `10.${this.#net}.${n >> 8}.${n & 255}`;
  }

  async start(): Promise<void> {
    const [name, near] = [this.#name, this.bridge];
    await ip('netns', 'add', name);
    await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', 'farm', 'netns', name);
    await ip('addr', 'add', `${this.gateway}/30`, 'dev', near);
    await ip('link', 'set', near, 'up');
    await ip('-n', name, 'addr', 'add', `${this.#far}/30`, 'dev', 'farm');
    await ip('-n', name, 'link', 'set', 'farm', 'up');
    await ip('-n', name, 'link', 'set', 'lo', 'up');
    const subnet = `10.${this.#net}.0.0/16`;
    await ip('-n', name, 'route', 'add', 'local', subnet, 'dev', 'lo');
    await ip('route', 'add', subnet, 'via', this.#far, 'dev', near);
    const child = spawn('ip', ['netns', 'exec', name, process.execPath, responder], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#responder = child;
    await new Promise<void>((resolve, reject) => {
      child.stdout?.once('data', () => resolve());
      child.once('error', reject);
      child.once('exit', (code) =>
        reject(new Error(`the containers' side of the farm ended with ${code}`)),
      );
    });
  }

  async stop(): Promise<void> {
    const child = this.#responder;
    if (child !== null && child.exitCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.stdin?.end();
      await ended;
    }
    // Both ends of the pair, and the route, go with it.
    await ip('link', 'del', this.bridge).catch(() => undefined);
    await ip('netns', 'del', this.#name).catch(() => undefined);
  }
}
