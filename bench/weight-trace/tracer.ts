import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import type {
  Action,
  ActivationRecord,
  ActivationResult,
  Invoker,
} from '../../simulator/invoker-emulator/index.js';
import type { GleanerProcess } from '../benefit/gleaner-process.js';
import { KernelTrace } from './kernel-trace.js';
import { Packets } from './packets.js';
import { decompose, type Moments, PARTS, type Parts } from './parts.js';
import { Owners, sharesOf, type TracedContainer, tracedContainers } from './processes.js';
import { Steps, Timelines } from './timelines.js';

/** Containers of cold starts live shortly: their threads are read this often, ms. */
const READ_EVERY = 250;

/** An activation with its parts, ms. */
export interface TracedActivation {
  readonly name: string;
  readonly arm: string;
  readonly latencyMs: number;
  readonly parts: Parts;
}

interface Activation {
  readonly accepted: number;
  readonly received: number;
}

/** What the bench's own traced function returns: readings of the kernel's monotonic clock, ms. */
interface TracedResult {
  readonly began: number;
  readonly ended: number;
}

interface Write {
  readonly at: number;
  readonly container: string;
  readonly activation: string | undefined;
  readonly shares: number;
  readonly isRevision: boolean;
}

/** Traces the runs of `bench -- weight`: one after another, each from `begin` to `end`. */
export class Tracer {
  readonly activations: TracedActivation[] = [];
  /** Activations without a packet, a container or an answer of their own. */
  untraced = 0;
  /** Events that the kernel's buffer lost. */
  lost = 0;
  readonly #activations = new Map<string, Activation>();
  readonly #gleaner: GleanerProcess;
  readonly #prefix: string;
  readonly #packets = new Packets();
  readonly #kernel = KernelTrace.open();
  #containers: TracedContainer[] = [];
  #owners: Owners | null = null;
  #weights = new Map<string, Steps<number>>();
  #begun = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(gleaner: GleanerProcess, prefix: string) {
    this.#gleaner = gleaner;
    this.#prefix = prefix;
  }

  /** Notes when the invoker takes an activation and when it answers. */
  wrap(invoker: Invoker): Invoker {
    return {
      invoke: async (action: Action, payload?: unknown): Promise<ActivationResult> => {
        const accepted = performance.now();
        const result = await invoker.invoke(action, payload);
        this.#activations.set(result.activationId, { accepted, received: performance.now() });
        return result;
      },
    };
  }

  /** Call it when every container is there. */
  async open(): Promise<void> {
    this.#containers = await tracedContainers(this.#prefix);
    this.#owners = new Owners(this.#containers, this.#gleaner.pid);
    await this.#packets.start(this.#containers);
  }

  begin(): void {
    const now = monotonic();
    this.#begun = now;
    this.#weights = new Map(
      this.#containers.map((one) => {
        const steps = new Steps<number>();
        steps.set(now, sharesOf(one));
        return [one.name, steps];
      }),
    );
    this.#timer = setInterval(() => this.#owners?.readContainers(), READ_EVERY);
    this.#kernel.start();
  }

  /** Call it when the audit log is written. */
  async end(arm: string, records: readonly ActivationRecord[]): Promise<void> {
    this.#kernel.stop();
    clearInterval(this.#timer);
    const owners = this.#owners!;
    owners.readContainers();
    owners.readProcesses();
    const timelines = new Timelines(this.#containers.map(({ mainThread }) => mainThread));
    await this.#kernel.read(timelines);
    this.lost += this.#kernel.lost(cpus().length);
    const writes = readWrites(join(this.#gleaner.folder, 'state/audit.jsonl'));
    for (const { at, container, shares } of writes)
      if (at > this.#begun) this.#weights.get(container)?.set(at, shares);
    const chosen = new Map(
      writes.filter(({ isRevision }) => !isRevision).map((one) => [one.activation, one.at]),
    );
    const host = {
      timelines,
      weights: this.#weights,
      ownerOf: (thread: number) => owners.ownerOf(thread, timelines.nameOf(thread)),
    };
    const byName = new Map(this.#containers.map((one) => [one.name, one]));
    for (const record of records) {
      const container = byName.get(record.containerName ?? '');
      const moments = this.#moments(record, chosen.get(record.activationId));
      if (container === undefined || moments === null) {
        this.untraced++;
        continue;
      }
      const subject = { container: container.name, mainThread: container.mainThread };
      this.activations.push({
        name: record.action.slice('/guest/'.length),
        arm,
        latencyMs: record.latencyMs,
        parts: decompose(subject, moments, host),
      });
    }
    this.#activations.clear();
    this.#packets.times.clear();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#packets.stop();
    this.#kernel.close();
  }

  /** A line for each activation: function, arm, response time, and its parts, ms. */
  save(file: string): void {
    const lines = this.activations.map(({ name, arm, latencyMs, parts }) =>
      [
        name,
        arm,
        ...[latencyMs, ...PARTS.map((part) => parts[part])].map((ms) => ms.toFixed(3)),
      ].join(),
    );
    writeFileSync(file, `function,arm,response,${PARTS.join()}\n${lines.join('\n')}\n`);
  }

  #moments(record: ActivationRecord, weighed: number | undefined): Moments | null {
    const activation = this.#activations.get(record.activationId);
    const packets = this.#packets.times.get(record.activationId);
    const result = record.result as TracedResult | null;
    if (activation === undefined || packets === undefined || !record.ok || record.cold) return null;
    if (!(packets.answer > 0) || !(Number(result?.began) > 0)) return null;
    const shift = monotonic() - performance.now();
    const intended = activation.received + shift - record.latencyMs;
    const request = packets.request + shift;
    return {
      intended,
      called: intended + record.lateMs,
      sent: activation.accepted + shift + record.waitMs,
      request,
      answer: packets.answer + shift,
      began: result!.began,
      ended: result!.ended,
      received: activation.received + shift,
      weighed: weighed ?? request,
    };
  }
}

/** The clock of the kernel's trace and of `process.hrtime`, ms. */
const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Weights that were written, in order, as the audit log of the hook has them. */
function readWrites(file: string): Write[] {
  const shift = monotonic() - Date.now();
  const writes: Write[] = [];
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (!line.includes('"resource":"cpu.shares"')) continue;
    const { at, name, activation, new: shares, why } = JSON.parse(line);
    writes.push({
      // The log has whole milliseconds, rounded down.
      at: Date.parse(at) + 0.5 + shift,
      container: name,
      activation,
      shares,
      isRevision: why === 'revised',
    });
  }
  return writes;
}
