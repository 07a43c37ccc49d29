import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { shardObject } from '../../../agents/host/sharing/hand-over.js';
import { buckets, objectStores, subjects } from '../../../broker/index.js';
import { encodeMessage } from '../../../broker/messages/index.js';
import type { Random } from '../../../config/index.js';
import type { InvokerHost } from './invoker-host.js';
import { CALM, type Part, World } from './world.js';

/** What one fault does now, and what undoes it; undefined: it undoes itself. */
interface Fault {
  readonly name: string;
  readonly weight: number;
  begin(world: World, random: Random): Undo | undefined;
}
type Undo = () => void | Promise<void>;

const pick = <T>(random: Random, of: readonly T[]): T => of[random.below(of.length)]!;
const anyHost = (world: World, random: Random): InvokerHost => pick(random, world.hosts);
const anyPart = (world: World, random: Random): Part => pick(random, world.parts);
const garbage = new TextEncoder().encode('{"v":1,"mode":"enf');

const FAULTS: readonly Fault[] = [
  {
    name: 'kill a hook',
    weight: 3,
    begin: (world, random) => {
      const host = anyHost(world, random);
      host.kill();
      if (random.next() < 0.5) host.leaveHalfFiles();
      return () => host.start();
    },
  },
  {
    name: 'hold a hook',
    weight: 3,
    begin: (world, random) => {
      const { machine } = anyHost(world, random);
      if (!machine) return undefined;
      machine.held = true;
      return () => machine.resume();
    },
  },
  {
    name: 'cut a hook off',
    weight: 2,
    begin: (world, random) => {
      const { broker } = anyHost(world, random);
      if (!broker) return undefined;
      broker.cut = true;
      return () => {
        broker.cut = false;
      };
    },
  },
  {
    name: 'kill an agent host or an aggregator',
    weight: 4,
    begin: (world, random) => {
      const part = anyPart(world, random);
      part.kill();
      return () => part.start();
    },
  },
  {
    name: 'hold an agent host or an aggregator',
    weight: 4,
    begin: (world, random) => {
      const { now } = anyPart(world, random);
      if (!now) return undefined;
      now.machine.held = true;
      return () => now.machine.resume();
    },
  },
  {
    name: 'cut an agent host or an aggregator off',
    weight: 3,
    begin: (world, random) => {
      const { now } = anyPart(world, random);
      if (!now) return undefined;
      now.broker.cut = true;
      return () => {
        now.broker.cut = false;
      };
    },
  },
  {
    name: 'NATS away',
    weight: 2,
    begin: (world) => {
      world.net.takeDown();
      return () => world.net.bringUp();
    },
  },
  {
    name: 'slow network, lost writes',
    weight: 3,
    begin: (world, random) => {
      world.flakiness = { delay: 20 + random.below(400), lost: 0.2 * random.next() };
      return () => {
        world.flakiness = CALM;
      };
    },
  },
  {
    name: 'the wall clock is set',
    weight: 2,
    begin: (world, random) => {
      anyHost(world, random).wallStep += (random.next() - 0.5) * 20_000;
      return undefined;
    },
  },
  {
    name: 'Docker hangs',
    weight: 2,
    begin: (world, random) => {
      const host = anyHost(world, random);
      host.hangEngine();
      return () => host.releaseEngine();
    },
  },
  {
    name: 'Docker is slow',
    weight: 2,
    begin: (world, random) => {
      const host = anyHost(world, random);
      host.engineDelay = 3000;
      return () => {
        host.engineDelay = 0;
      };
    },
  },
  {
    name: 'tcpdump restarts',
    weight: 2,
    begin: (world, random) => {
      anyHost(world, random).loseTap();
      return undefined;
    },
  },
  {
    name: 'a container goes, or is killed for memory',
    weight: 4,
    begin: (world, random) => {
      anyHost(world, random).replaceContainer(random.next() < 0.5);
      return undefined;
    },
  },
  {
    name: 'the disk of the audit log is full',
    weight: 1,
    begin: (world, random) => {
      const host = anyHost(world, random);
      host.breakAudit(true);
      return () => host.breakAudit(false);
    },
  },
  {
    name: 'the kill switch file is there, empty',
    weight: 1,
    begin: (world, random) => {
      const { killSwitchFile } = anyHost(world, random);
      writeFileSync(killSwitchFile, '');
      return () => {
        if (existsSync(killSwitchFile)) rmSync(killSwitchFile);
      };
    },
  },
  {
    name: 'half a value in the stores',
    weight: 2,
    begin: (world, random) => {
      const broker = world.net.connect();
      if (!broker.connected) return undefined;
      const shard = random.below(64);
      void broker.keyValue(buckets.mode).put('global', garbage);
      void broker.keyValue(buckets.leases).put(`shard-${shard}`, garbage);
      void broker
        .keyValue(buckets.leases)
        .put(pick(random, ['agents-agents-1', 'agents-agents-2', 'gleaner-aggregator']), garbage);
      void broker.objects(objectStores.policies).put(shardObject(shard), garbage);
      return undefined;
    },
  },
  {
    name: 'forged targets',
    weight: 2,
    begin: (world, random) => {
      const broker = world.net.connect();
      const fn = `/guest/f${random.below(4)}`;
      const good = {
        v: 1,
        function: fn,
        cpu: 1,
        memory: 1,
        epoch: 0,
        echo: { host: pick(random, world.hosts).name, boot: 'forged-boot', observedAt: 1 },
        author: { host: 'forger', boot: 'forged-boot', sequence: 1, manager: 'forged' },
      };
      broker.publish(subjects.target(fn), encodeMessage(good));
      broker.publish(subjects.target(fn), encodeMessage({ ...good, cpu: Number.NaN }));
      broker.publish(subjects.target(fn), garbage);
      return undefined;
    },
  },
];
const WEIGHT = FAULTS.reduce((sum, { weight }) => sum + weight, 0);

function drawn(random: Random): Fault {
  let left = WEIGHT * random.next();
  for (const fault of FAULTS) {
    left -= fault.weight;
    if (left < 0) return fault;
  }
  return FAULTS[0]!;
}

export interface ScheduleResult {
  readonly seed: number;
  readonly faults: readonly string[];
  readonly activations: number;
  /** Of them, below their user's quota for a while. */
  readonly lowered: number;
  readonly targets: number;
  readonly problems: readonly string[];
}

/**
 * One schedule: `count` faults, some at the same time, each for up to some seconds; then
 * calm, and the promises are checked.
 */
export async function playSchedule(seed: number, count = 10): Promise<ScheduleResult> {
  const world = new World(seed);
  const random = world.random.fork('faults');
  const faults: string[] = [];
  try {
    await world.start();
    // Histories and targets first: without them nothing is lowered.
    await world.pass(6000);
    const open: { readonly until: number; readonly undo: Undo }[] = [];
    const close = async (now: number): Promise<void> => {
      for (const fault of open.filter(({ until }) => until <= now)) {
        open.splice(open.indexOf(fault), 1);
        await fault.undo();
      }
    };
    for (let i = 0; i < count; i++) {
      const fault = drawn(random);
      const now = world.time.monotonic();
      const undo = fault.begin(world, random);
      faults.push(`${now} ${fault.name}`);
      if (undo)
        open.push({ until: now + (random.next() < 0.7 ? 1500 : 6000) * random.next(), undo });
      const end = now + 200 + random.below(1300);
      while (world.time.monotonic() < end) {
        await world.pass(100);
        await close(world.time.monotonic());
      }
    }
    await close(Number.POSITIVE_INFINITY);
    await world.calm();
    const problems = await world.verdict();
    const activations = world.hosts.reduce((sum, { activations }) => sum + activations, 0);
    const lowered = world.hosts.reduce((sum, host) => sum + host.lowered, 0);
    return { seed, faults, activations, lowered, targets: world.targets, problems };
  } finally {
    await world.stop();
  }
}
