import { SHARDS, Shards } from '../../../../agents/host/sharing/index.js';
import { assignShards } from '../../../../agents/host/sharing/plan.js';
import { type Millis, millis, SeededRandom } from '../../../../config/index.js';
import { type Flakiness, FlakyBroker, Machine } from '../../../faults/world/machine.js';
import { ManualTime } from '../../../support/manual-time.js';
import { MemoryBus } from '../../../support/memory-broker/memory-bus.js';
import { settle } from '../../../support/settle.js';

export const TERM = 1500 as Millis;
const CALM: Flakiness = { delay: 5, lost: 0 };

export interface Host {
  readonly name: string;
  readonly machine: Machine;
  readonly shards: Shards;
  readonly onAcquired: number[];
}

/** Agent hosts on machines of their own that share the shards over one broker in memory. */
export class Cluster {
  readonly time = new ManualTime();
  readonly bus = new MemoryBus(this.time);
  readonly random: SeededRandom;
  readonly hosts: Host[] = [];
  flakiness = CALM;
  #boots = 0;
  readonly violations: string[] = [];
  /** Highest epoch that ever was in force, by shard: what a hook remembers. */
  readonly #epochs = new Map<number, { epoch: number; owner: string }>();

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
  }

  start(name: string): Host {
    const machine = new Machine(
      this.time,
      0.95 + 0.1 * this.random.next(),
      1e6 * this.random.next(),
    );
    const broker = new FlakyBroker(
      this.bus.connect(),
      machine,
      this.time,
      this.random,
      () => this.flakiness,
    );
    const onAcquired: number[] = [];
    const shards = new Shards({
      broker,
      host: name,
      boot: `boot-${++this.#boots}`,
      clock: machine,
      timers: machine,
      random: this.random.fork(`${name}${this.#boots}`),
      duration: TERM,
      onAcquired: async (shard) => void onAcquired.push(shard),
    });
    const host = { name, machine, shards, onAcquired };
    this.hosts.push(host);
    return host;
  }

  /** As `kill -9` does. */
  kill(host: Host): void {
    host.machine.dead = true;
    this.hosts.splice(this.hosts.indexOf(host), 1);
  }

  /**
   * Looks after every few ms: no shard has two owners, and none has one with an epoch below an
   * earlier one's.
   */
  async pass(by: number): Promise<void> {
    for (let i = 0; i < by; i += 20) {
      this.time.advance(millis(20));
      await settle();
      this.#look();
    }
  }

  #look(): void {
    for (let shard = 0; shard < SHARDS; shard++) {
      const owners = this.hosts.filter(
        ({ machine, shards }) => !machine.held && shards.epochOfShard(shard) !== null,
      );
      if (owners.length > 1)
        this.violations.push(`shard ${shard} has owners ${owners.map(({ name }) => name)}`);
      for (const { name, shards } of owners) {
        const epoch = shards.epochOfShard(shard)!;
        const known = this.#epochs.get(shard);
        if (known && (epoch < known.epoch || (epoch === known.epoch && known.owner !== name)))
          this.violations.push(
            `shard ${shard}: epoch ${epoch} of ${name} after ${known.epoch} of ${known.owner}`,
          );
        this.#epochs.set(shard, { epoch, owner: name });
      }
    }
  }

  /** By shard: its one owner. */
  owners(): (string | undefined)[] {
    return Array.from(
      { length: SHARDS },
      (_, shard) => this.hosts.find((h) => h.shards.epochOfShard(shard) !== null)?.name,
    );
  }

  get owned(): number[] {
    return this.hosts.map(({ shards }) => shards.owned);
  }
}

/**
 * Twenty seconds of whatever can happen by one seed, then calm: late and lost writes and answers,
 * hosts that are held, die and come back, NATS away. Returns what was wrong.
 */
export async function playSeed(seed: number): Promise<string[]> {
  const cluster = new Cluster(seed);
  const { random } = cluster;
  const names = ['agents-1', 'agents-2', 'agents-3'];
  for (const name of names) cluster.start(name);
  for (let step = 0; step < 40; step++) {
    cluster.flakiness = {
      delay: random.next() < 0.3 ? 400 : 20,
      lost: random.next() < 0.3 ? 0.2 : 0,
    };
    const host = cluster.hosts[random.below(Math.max(1, cluster.hosts.length))];
    const chance = random.next();
    if (host && chance < 0.2) host.machine.held = true;
    else if (host?.machine.held && chance < 0.6) host.machine.resume();
    else if (host && chance < 0.3) cluster.kill(host);
    else if (chance < 0.5) {
      const gone = names.find((name) => !cluster.hosts.some((one) => one.name === name));
      if (gone) cluster.start(gone);
    } else if (chance < 0.55) cluster.bus.takeDown();
    await cluster.pass(100 + random.below(900));
    cluster.bus.bringUp();
  }
  cluster.flakiness = CALM;
  for (const { machine } of cluster.hosts) machine.resume();
  if (cluster.hosts.length === 0) cluster.start('agents-1');
  await cluster.pass(14_000);
  const assigned = assignShards(cluster.hosts.map(({ name }) => name));
  const owners = cluster.owners();
  const wrong = assigned.flatMap((host, shard) =>
    owners[shard] === host
      ? []
      : [`in the end ${owners[shard]} has shard ${shard}, meant for ${host}`],
  );
  for (const host of [...cluster.hosts]) cluster.kill(host);
  return [...cluster.violations, ...wrong].map((problem) => `seed ${seed}: ${problem}`);
}
