import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type NatsConnection } from 'nats';
import { figuresOf, partsBelow, tcpdumpsBelow } from '../../bench/farm/figures.js';
import type { Series } from '../../bench/growth.js';

const MIB = 2 ** 20;
const PARTS = ['hook', 'agents', 'aggregator', 'dashboard'];

/**
 * What a Gleaner holds, looked at again and again: memory, descriptors, what is kept in NATS,
 * files.
 */
export class ProcessSampler {
  readonly #series = new Map<string, Series>();
  readonly #folder: string;
  readonly #probes: string;
  readonly #up: number;
  readonly #first: ReadonlyMap<string, number>;
  #connection: NatsConnection | null = null;
  readonly restarted: string[] = [];

  /** `folder`: Gleaner's own; `probes`: where heap-probe writes; `up`: process of `gleaner up`. */
  constructor(folder: string, probes: string, up: number) {
    this.#folder = folder;
    this.#probes = probes;
    this.#up = up;
    this.#first = processesBelow(up);
  }

  get series(): readonly Series[] {
    return [...this.#series.values()];
  }

  /** One look; what NATS does not answer now is left out of it. */
  async sample(): Promise<void> {
    const parts = processesBelow(this.#up);
    for (const part of new Set([...PARTS, 'nats-server', ...this.#first.keys(), ...parts.keys()])) {
      const pid = parts.get(part);
      const expected = this.#first.get(part);
      if (part !== 'nats-server' && pid !== expected)
        this.restarted.push(`${part} ${expected} -> ${pid}`);
      const figures = pid === undefined ? null : figuresOf(pid);
      if (figures === null) continue;
      this.#add(`${part} RSS`, 'MiB', 12, figures.rss);
      this.#add(`${part} descriptors`, '', 8, figures.descriptors);
    }
    for (const part of PARTS) this.#heap(part);
    this.#files();
    try {
      await this.#nats();
    } catch {
      // It is being restarted; the next look finds it.
      await this.#connection?.close().catch(() => undefined);
      this.#connection = null;
    }
  }

  async close(): Promise<void> {
    await this.#connection?.close();
  }

  #add(name: string, unit: string, slack: number, value: number, bound?: number): void {
    let series = this.#series.get(name);
    if (series === undefined) {
      series = { name, unit, slack, bound, values: [] };
      this.#series.set(name, series);
    }
    series.values.push(value);
  }

  #heap(part: string): void {
    const file = join(this.#probes, `${part}.heap`);
    if (!existsSync(file)) return;
    const last = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1);
    if (last !== undefined)
      this.#add(`${part} heap after collection`, 'MiB', 2, Number(last) / MIB);
  }

  #files(): void {
    let [count, bytes] = [0, 0];
    const state = join(this.#folder, 'state');
    for (const entry of readdirSync(state, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      // JetStream's own files are counted as what they hold, below.
      if (!entry.isFile() || path.startsWith(join(state, 'nats'))) continue;
      count++;
      bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    }
    const pipes = readdirSync(tmpdir()).filter((name) => name.startsWith('gleaner-tap-')).length;
    this.#add('files in the state folder', '', 3, count);
    this.#add('size of the state folder', 'MiB', 8, bytes / MIB);
    this.#add('pipe folders of the tap', '', 4, pipes);
  }

  async #nats(): Promise<void> {
    const { servers } = JSON.parse(
      readFileSync(join(this.#folder, 'state', 'up.json'), 'utf8'),
    ) as {
      servers: string[];
    };
    this.#connection ??= await connect({ servers, timeout: 2000, reconnect: false });
    const manager = await this.#connection.jetstreamManager();
    let [streams, consumers] = [0, 0];
    for await (const { config, state } of manager.streams.list()) {
      streams++;
      consumers += state.consumer_count;
      const name = config.name.replace(/^(KV|OBJ)_/, '');
      const bound = config.max_bytes > 0 ? config.max_bytes / 1024 : undefined;
      if (bound === undefined) this.#add(`${name} messages`, '', 60, state.messages);
      this.#add(`${name} size`, 'KiB', 512, state.bytes / 1024, bound);
    }
    this.#add('streams', '', 0, streams);
    this.#add('consumers', '', 2, consumers);
  }
}

/** The parts of Gleaner, and each tcpdump by its place among them. */
function processesBelow(up: number): Map<string, number> {
  const parts = partsBelow(up);
  for (const [n, pid] of tcpdumpsBelow(up).entries()) parts.set(`tcpdump ${n + 1}`, pid);
  return parts;
}
