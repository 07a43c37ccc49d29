import {
  createReadStream,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readLine, type Timelines } from './timelines.js';

const TRACEFS = '/sys/kernel/tracing';
const EVENTS = ['sched_switch', 'sched_wakeup', 'sched_wakeup_new', 'sched_migrate_task'];
/** Of each core; a busy host of two cores fills about 1 MiB a second. */
const BUFFER_KIB = 65_536;

/** The scheduler's events, from an instance of tracefs of its own. */
export class KernelTrace {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static open(): KernelTrace {
    const instances = join(TRACEFS, 'instances');
    if (!existsSync(instances))
      throw new Error(
        `tracefs is not mounted on ${TRACEFS}\n  run as root: mount -t tracefs nodev ${TRACEFS}`,
      );
    const folder = join(instances, `gleaner-bench-${process.pid}`);
    mkdirSync(folder);
    const trace = new KernelTrace(folder);
    trace.#write('tracing_on', '0');
    trace.#write('trace_clock', 'mono');
    trace.#write('buffer_size_kb', String(BUFFER_KIB));
    for (const event of EVENTS) trace.#write(`events/sched/${event}/enable`, '1');
    return trace;
  }

  start(): void {
    this.#write('trace', '');
    this.#write('tracing_on', '1');
  }

  stop(): void {
    this.#write('tracing_on', '0');
  }

  /** Events that were overwritten before they were read. */
  lost(cores: number): number {
    let sum = 0;
    for (let core = 0; core < cores; core++) {
      const stats = readFileSync(join(this.#folder, `per_cpu/cpu${core}/stats`), 'latin1');
      sum += Number(/^overrun: (\d+)$/m.exec(stats)?.[1] ?? Number.NaN);
    }
    return sum;
  }

  /** After `stop`. */
  async read(into: Timelines): Promise<void> {
    const lines = createInterface({
      input: createReadStream(join(this.#folder, 'trace'), 'latin1'),
      crlfDelay: Number.POSITIVE_INFINITY,
    });
    for await (const line of lines) readLine(line, into);
  }

  close(): void {
    this.stop();
    rmdirSync(this.#folder);
  }

  #write(file: string, value: string): void {
    writeFileSync(join(this.#folder, file), value);
  }
}
