import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { KubernetesNode } from '../../bench/kubernetes/node.js';
import { type CgroupDriver, cgroupDrivers } from '../../bench/kubernetes/pods.js';
import { SeededRandom } from '../../config/index.js';
import { KubernetesEngine } from '../../openwhisk-plugin/host/kubernetes/index.js';
import { gleaner, processesWith, startUp, type Up, until } from '../support/gleaner.js';
import { manifestOf, nameOf, WORK, type Work } from './action-pods.js';
import { groupExists, writeWeight } from './cgroups.js';
import { type Check, checksOf, type Planted } from './checks.js';
import { Kubelet, type Managers } from './kubelet.js';
import { FunctionLoad } from './load.js';
import { LimitRecorder } from './recorder.js';
import { writesOf } from './reverts.js';
import { Runtime } from './runtime.js';

const READ_EVERY = 200;
const PLANT_EVERY = 30_000;
/** Its container is killed in the middle of the run, and its pod is replaced. */
const CRASHES = 'steady';
const REPLACED = 'medium';

/** Gleaner beside a real kubelet for some minutes, and what is expected of both. */
export class KubeletRun {
  readonly #minutes: number;
  readonly #log: (line: string) => void;
  readonly #node: KubernetesNode;
  readonly #kubelet: Kubelet;
  readonly #engine: KubernetesEngine;
  readonly #runtime: Runtime;
  readonly #recorder = new LimitRecorder();
  readonly #loads = new Map<string, FunctionLoad>();
  readonly #planted: Planted[] = [];
  readonly #doctors: string[] = [];
  #restarts = 0;
  #up: Up | null = null;

  constructor(program: string, minutes: number, log: (line: string) => void) {
    this.#minutes = minutes;
    this.#log = log;
    const driver = driverHere();
    this.#node = new KubernetesNode(209, driver);
    this.#kubelet = new Kubelet(program, this.#node, driver);
    this.#runtime = new Runtime(this.#node.socket);
    this.#engine = new KubernetesEngine({ socketPath: this.#node.socket });
  }

  async whole(): Promise<Check[]> {
    try {
      await this.#startPods();
      const up = await this.#startGleaner();
      const hook = this.#hookOf(up);
      await this.#underLoad();
      const hookAtEnd = this.#hookOf(up);
      for (const load of this.#loads.values()) await load.stop();
      up.child.kill('SIGTERM');
      await up.ended;
      this.#recorder.read();
      this.#recorder.stop();
      const checks = checksOf({
        minutes: this.#minutes,
        recorder: this.#recorder,
        loads: [...this.#loads.values()],
        writes: writesOf(auditOf(up.folder)),
        planted: this.#planted,
        doctors: this.#doctors,
        kubeletLog: this.#kubelet.log(),
        kubeletRestarts: this.#restarts,
        hasStatic,
        crashed: nameOf(CRASHES),
        isSameHook: hook === hookAtEnd && hook > 0,
      });
      await up.clean();
      this.#up = null;
      return [...checks, await this.#removed()];
    } finally {
      await this.#clean();
    }
  }

  async #startPods(): Promise<void> {
    await this.#node.start();
    this.#log(`containerd and kubelet in ${this.#node.folder}`);
    for (const work of WORK) this.#kubelet.addPod(work.action, manifestOf(work));
    this.#kubelet.start();
    await this.#engine.start(this.#recorder);
    try {
      const all = (): boolean => {
        if (!this.#kubelet.isRunning) throw new Error('kubelet ended');
        return WORK.every(({ action }) => this.#recorder.of(nameOf(action)));
      };
      await until(all, 120_000, 'all action pods run');
    } catch (error) {
      this.#log(this.#kubelet.log().slice(-3000));
      throw error;
    }
    const { engineVersion, cgroupVersion } = await this.#engine.facts();
    this.#log(`${WORK.length} action pods run: ${engineVersion}, cgroup v${cgroupVersion}`);
  }

  async #startGleaner(): Promise<Up> {
    const up = startUp({
      mode: 'enforce',
      platform: 'host',
      hook: {
        engine: 'kubernetes-dedicated',
        engineSocket: this.#node.socket,
        auditRotateMiB: 1024,
      },
      dashboard: { listen: null },
      metrics: { hook: null, agents: null, aggregator: null },
    });
    this.#up = up;
    try {
      await until(() => /up \d+ s /.test(up.output()), 60_000, 'the hook runs');
    } catch (error) {
      this.#log(up.output().slice(-3000));
      throw error;
    }
    return up;
  }

  #hookOf({ folder }: Up): number {
    return processesWith(folder).find(({ args }) => / hook( |$)/.test(args))?.pid ?? -1;
  }

  /** Steps at their share of the time; between them this test puts limits back. */
  async #underLoad(): Promise<void> {
    this.#recorder.start(READ_EVERY);
    for (const work of WORK) await this.#startLoad(work);
    const begun = Date.now();
    const whole = this.#minutes * 60_000;
    const toStatic: Step = [
      0.75,
      'kubelet with static managers of CPU and memory',
      () => this.#restartKubelet('SIGTERM', 'static'),
    ];
    const reload: Step = [0.3, 'systemd reloads', () => this.#reloadSystemd()];
    const steps: Step[] = [
      [0.2, 'kubelet ends and starts again', () => this.#restartKubelet('SIGTERM')],
      ...(driverHere() === 'systemd' ? [reload] : []),
      [0.4, 'kubelet is killed and starts again', () => this.#restartKubelet('SIGKILL')],
      [0.5, 'a container ends', () => this.#crash()],
      [0.6, 'a pod is replaced', () => this.#replace()],
      [0.7, 'doctor', () => this.#doctor()],
      ...(hasStatic ? [toStatic] : []),
      [0.95, 'doctor', () => this.#doctor()],
      [1, 'the end', () => Promise.resolve()],
    ];
    let plantAt = begun + PLANT_EVERY / 2;
    for (const [share, name, step] of steps) {
      while (Date.now() < begun + share * whole) {
        await sleep(250);
        if (Date.now() < plantAt) continue;
        plantAt += PLANT_EVERY;
        await this.#plant();
      }
      this.#log(name);
      await step();
    }
  }

  async #startLoad(work: Work): Promise<void> {
    const { action } = work;
    const seen = this.#recorder.of(nameOf(action));
    const random = new SeededRandom(1).fork(action);
    const load = this.#loads.get(action) ?? new FunctionLoad(work, random);
    this.#loads.set(action, load);
    const address = seen?.info.address ?? '';
    await until(() => FunctionLoad.isUp(address), 30_000, `${action} takes connections`);
    load.start(address);
  }

  async #restartKubelet(signal: NodeJS.Signals, managers?: Managers): Promise<void> {
    await this.#kubelet.stop(signal);
    await sleep(2000);
    this.#kubelet.start(managers);
    this.#restarts++;
    await sleep(5000);
    if (!this.#kubelet.isRunning) this.#log(this.#kubelet.log().slice(-3000));
  }

  /** systemd writes the limits that it knows again: the users'. */
  async #reloadSystemd(): Promise<void> {
    await promisify(execFile)('systemctl', ['daemon-reload']);
  }

  /** kubelet starts another container in the same pod, whose cgroup keeps what was written. */
  async #crash(): Promise<void> {
    const work = workOf(CRASHES);
    const seen = this.#recorder.of(nameOf(CRASHES));
    await this.#loads.get(CRASHES)?.stop();
    process.kill(seen?.info.pid ?? 0, 'SIGKILL');
    await until(
      () => {
        const now = this.#recorder.of(nameOf(CRASHES));
        return now !== null && now !== seen;
      },
      60_000,
      'kubelet starts the container again',
    );
    await this.#startLoad(work);
  }

  async #replace(): Promise<void> {
    await this.#loads.get(REPLACED)?.stop();
    this.#kubelet.removePod(REPLACED);
    const isGone = (): boolean => this.#recorder.of(nameOf(REPLACED)) === null;
    await until(isGone, 60_000, 'a pod ends');
    this.#kubelet.addPod(REPLACED, manifestOf(workOf(REPLACED)));
    await until(() => !isGone(), 60_000, 'a pod starts');
    await this.#startLoad(workOf(REPLACED));
  }

  async #doctor(): Promise<void> {
    const { out } = await gleaner(['--config', this.#up?.config ?? '', 'doctor']);
    this.#doctors.push(out);
    this.#log(`doctor:\n${out}`);
  }

  /** Puts a limit back to the user's: the weight as another program, the rest as kubelet does. */
  async #plant(): Promise<void> {
    const changed = [...this.#recorder.containers.values()].filter(
      ({ ended, now, own }) =>
        !ended &&
        (now.ofContainer.quota !== own.ofContainer.quota || now.ofPod.weight !== own.ofPod.weight),
    );
    const seen = changed[this.#planted.length % Math.max(1, changed.length)];
    if (seen === undefined) return;
    const { now, own, info } = seen;
    const at = Date.now();
    if (now.ofContainer.quota !== own.ofContainer.quota) {
      this.#planted.push({ at, container: info.id, resource: 'cpu.quota' });
      await this.#runtime.rewrite(info.id);
    } else {
      this.#planted.push({ at, container: info.id, resource: 'cpu.shares' });
      writeWeight(seen.podGroup, own.ofPod.weight);
    }
  }

  /** kubelet removes its pods, and nothing is left. */
  async #removed(): Promise<Check> {
    const groups = [...this.#recorder.containers.values()].map(({ podGroup }) => podGroup);
    for (const { action } of WORK) this.#kubelet.removePod(action);
    const left = (): string[] => groups.filter(groupExists);
    await until(() => left().length === 0, 90_000, 'the pods’ cgroups are gone').catch(() => null);
    return {
      name: 'the pods can be removed, and no cgroup of theirs is left',
      found: `${left().length} left`,
      isGood: left().length === 0,
    };
  }

  async #clean(): Promise<void> {
    this.#recorder.stop();
    for (const load of this.#loads.values()) await load.stop();
    await this.#up?.clean().catch((error: unknown) => this.#log(String(error)));
    await this.#engine.stop();
    await this.#kubelet.stop('SIGTERM');
    await this.#runtime.removePods().catch((error: unknown) => this.#log(String(error)));
    this.#runtime.close();
    await this.#kubelet.remove();
    await this.#node.remove();
  }
}

type Step = [share: number, name: string, step: () => Promise<void>];
/** The static CPU manager keeps a core for others, and needs one for pods. */
const hasStatic = cpus().length > 1;

/** systemd's groups have the names of a real kubelet's: only on a machine of the tests' own. */
const driverHere = (): CgroupDriver =>
  process.env.GLEANER_TEST_OWN_MACHINE === '1'
    ? (cgroupDrivers().at(-1) ?? 'cgroupfs')
    : 'cgroupfs';

function workOf(action: string): Work {
  const work = WORK.find((each) => each.action === action);
  if (work === undefined) throw new Error(`no function ${action}`);
  return work;
}

const auditOf = (folder: string): string => readFileSync(join(folder, 'state/audit.jsonl'), 'utf8');
