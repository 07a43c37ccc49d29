import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { ensureActionImage } from '../../simulator/invoker-emulator/index.js';
import { freePort } from '../support/free-port.js';
import { docker, missing, realParts } from '../support/real-parts.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { OpenWhiskApi } from './api.js';

/** How the names of the standalone server's containers begin: its only invoker has number 0. */
export const PREFIX = 'wsk0_';
/** Room for a container of each case, so that none is evicted for another one. */
const USER_MEMORY_MB = 8192;
const READY_MILLIS = 300_000;

export interface StandaloneOptions {
  /**
   * The invoker's HTTP client: Apache's, which opens a connection for each request, or Akka's,
   * which keeps them.
   */
  readonly client?: 'apache' | 'akka';
  /**
   * CPU for all containers together, each by its share of memory: they have quotas then. Absent:
   * weights alone, as by default.
   */
  readonly userCpus?: number;
  /** Containers of 256 MB that are started ahead of any activation. */
  readonly prewarmed?: number;
  /** Further settings of OpenWhisk, `key=value`. */
  readonly settings?: readonly string[];
}

/**
 * True where a real OpenWhisk or what it runs with is missing: the test has failed in CI, and
 * passed with a loud line elsewhere.
 */
export function openWhiskMissing(t: ExecutionContext): boolean {
  if (missing(t, [...realParts, ['java', '-version'], ['xz', '--version']])) return true;
  const place = process.env.GLEANER_OPENWHISK ?? '';
  if (place !== '' && existsSync(place)) return false;
  const found =
    place === '' ? 'GLEANER_OPENWHISK is not set' : `GLEANER_OPENWHISK: ${place} does not exist`;
  if (process.env.CI) t.fail(`needs a standalone OpenWhisk: ${found}`);
  else {
    t.log(`NOT RUN: needs a standalone OpenWhisk: ${found}`);
    t.log(
      '  build a jar: `./gradlew :core:standalone:build` in a clone of github.com/apache/openwhisk',
    );
    t.log('  then set GLEANER_OPENWHISK to the jar, to an unpacked server or to an archive of one');
  }
  t.pass();
  return true;
}

/** All cases, as `npm run test:openwhisk` runs them; otherwise the part that CI has time for. */
export const allCases = process.env.GLEANER_TEST_OPENWHISK_ALL === '1';

/** True for a case that CI has no time for: it has passed, with a loud line. */
export function onlyWithAllCases(t: ExecutionContext): boolean {
  if (allCases) return false;
  t.log('NOT RUN: only by npm run test:openwhisk');
  t.pass();
  return true;
}

let unpacked: string | null = null;

/** The server's place: a jar, or a folder with `openwhisk.jar`, `lib/` and `res/`. */
function serverPlace(): string {
  const place = process.env.GLEANER_OPENWHISK!;
  if (place.endsWith('.jar') || statSync(place).isDirectory()) return place;
  if (unpacked === null) {
    const folder = temporaryFolder('openwhisk');
    execFileSync('tar', ['-xf', place, '-C', folder]);
    unpacked = existsSync(join(folder, 'openwhisk.jar'))
      ? folder
      : join(folder, readdirSync(folder)[0]!);
  }
  return unpacked;
}

/**
 * As an operator's own server, without pulling images or opening a browser, and with limits that
 * bear load.
 */
function javaArguments(place: string): string[] {
  const opens = ['java.nio', 'sun.nio.ch', 'java.lang', 'java.util'].map(
    (name) => `--add-opens=java.base/${name}=ALL-UNNAMED`,
  );
  const start = place.endsWith('.jar')
    ? ['-jar', place]
    : [
        '-cp',
        [
          ...['standalone', 'controller', 'invoker', 'scheduler', 'common'].map((part) =>
            join(place, 'res', part),
          ),
          join(place, 'openwhisk.jar'),
          `${place}/lib/*`,
        ].join(':'),
        'org.apache.openwhisk.standalone.StandaloneOpenWhisk',
      ];
  // It lives for a minute and shares few cores with its containers: code that starts quickly is
  // worth more than code that runs fast.
  return ['-Xmx768m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', ...opens, ...start];
}

/**
 * A real, unmodified OpenWhisk: controller and invoker in one process, on a free port, its
 * containers on this host's Docker.
 */
export class Standalone {
  readonly #options: StandaloneOptions;
  readonly #folder = temporaryFolder('openwhisk-data');
  #child: ChildProcess | null = null;
  #output = '';
  #api: OpenWhiskApi | null = null;
  port = 0;

  constructor(options: StandaloneOptions = {}) {
    this.#options = options;
  }

  get api(): OpenWhiskApi {
    if (this.#api === null) throw new Error('not started');
    return this.#api;
  }

  get output(): string {
    return this.#output;
  }

  /**
   * Also after {@link stop}: on the same port, as an operator's restart. Actions are forgotten:
   * their store is in memory.
   */
  async start(): Promise<void> {
    const place = serverPlace();
    this.port ||= await freePort();
    const gateway =
      docker('network', 'inspect', 'bridge', '-f', '{{(index .IPAM.Config 0).Gateway}}') ||
      '172.17.0.1';
    const runtimes = join(this.#folder, 'runtimes.json');
    writeFileSync(
      runtimes,
      JSON.stringify(manifest(await ensureActionImage(), this.#options.prewarmed ?? 0)),
    );
    const { client, userCpus, settings = [] } = this.#options;
    const all = [
      'whisk.standalone.host.name=127.0.0.1',
      'whisk.standalone.host.external=127.0.0.1',
      `whisk.standalone.host.ip=${gateway}`,
      `whisk.standalone.host.internal=${gateway}`,
      // The only port that is fixed otherwise.
      'akka.remote.artery.canonical.port=0',
      'whisk.docker.standalone.container-factory.pull-standard-images=false',
      'whisk.apache-client.retry-no-http-response-exception=false',
      'whisk.config.limits-actions-invokes-perMinute=1000000',
      'whisk.config.limits-actions-invokes-concurrent=1000',
      'whisk.config.limits-triggers-fires-perMinute=1000000',
      `whisk.container-pool.user-memory=${USER_MEMORY_MB}m`,
      'whisk.concurrency-limit.max=50',
      `whisk.container-pool.akka-client=${client === 'akka'}`,
      ...(userCpus === undefined ? [] : [`whisk.container-pool.user-cpus=${userCpus}`]),
      ...settings,
    ];
    const [options, main] = split(javaArguments(place));
    const flags = [
      '-p',
      String(this.port),
      '-m',
      runtimes,
      '--no-ui',
      '--no-browser',
      '--dev-mode',
    ];
    const args = [...options, ...all.map((setting) => `-D${setting}`), ...main];
    const child = spawn(
      'java',
      [...args, ...flags, '--disable-color-logging', '--data-dir', join(this.#folder, 'data')],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-4000);
      });
    this.#api = new OpenWhiskApi(`http://127.0.0.1:${this.port}`, guestKey(place));
    const end = Date.now() + READY_MILLIS;
    while (!(await this.#api.answers())) {
      if (child.exitCode !== null)
        throw new Error(`OpenWhisk ended with ${child.exitCode}:\n${this.#output}`);
      if (Date.now() > end) throw new Error(`OpenWhisk does not answer:\n${this.#output}`);
      await sleep(200);
    }
  }

  /** As SIGTERM ends it: its containers are removed, here too where it was killed. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.kill(signal);
      const force = setTimeout(() => child.kill('SIGKILL'), 30_000);
      await ended;
      clearTimeout(force);
    }
    if (signal === 'SIGTERM') removeContainers();
  }
}

/** Names of OpenWhisk's containers, running or not. */
export function containerNames(...filters: string[]): string[] {
  const args = [`name=^/${PREFIX}`, ...filters].flatMap((filter) => ['--filter', filter]);
  return docker('ps', '-a', '--format', '{{.Names}}', ...args)
    .split('\n')
    .filter(Boolean);
}

function removeContainers(): void {
  const left = containerNames();
  // A paused one cannot be removed by every version of Docker.
  for (const name of left) spawnSync('docker', ['unpause', name], { stdio: 'ignore' });
  if (left.length > 0) spawnSync('docker', ['rm', '-f', ...left], { stdio: 'ignore' });
}

function manifest(image: string, prewarmed: number): object {
  const [name, tag] = image.split(':');
  const stemCells = prewarmed > 0 ? [{ initialCount: prewarmed, memory: '256 MB' }] : [];
  const kind = {
    kind: 'nodejs:20',
    default: true,
    image: { prefix: '', name, tag },
    deprecated: false,
    attached: { attachmentName: 'codefile', attachmentType: 'text/plain' },
    ...(stemCells.length > 0 ? { stemCells } : {}),
  };
  return { runtimes: { nodejs: [kind] }, blackboxes: [] };
}

/** The key that OpenWhisk's own configuration gives to the namespace `guest`. */
function guestKey(place: string): string {
  const conf = place.endsWith('.jar')
    ? execFileSync('unzip', ['-p', place, 'BOOT-INF/classes/standalone.conf', 'standalone.conf'], {
        encoding: 'utf8',
      })
    : readFileSync(join(place, 'res', 'standalone', 'standalone.conf'), 'utf8');
  const key = /guest\s*=\s*"([^"]+)"/.exec(conf)?.[1];
  if (key === undefined)
    throw new Error(`no key of the namespace guest in standalone.conf of ${place}`);
  return key;
}

/** Settings of the JVM stand before the main class or `-jar`. */
function split(args: string[]): [string[], string[]] {
  const main = args.findIndex((arg) => arg === '-jar' || arg.startsWith('org.apache'));
  return [args.slice(0, main), args.slice(main)];
}
