import test from 'ava';
import fc from 'fast-check';
import { type Micros, millis } from '../../../config/index.js';
import { ContainerRegistry } from '../../../openwhisk-plugin/daemon/containers.js';
import type { Decider } from '../../../openwhisk-plugin/decision/index.js';
import {
  addressOf,
  type ContainerInfo,
  type Platform,
} from '../../../openwhisk-plugin/host/ports/index.js';
import { WallClockCheck } from '../../../openwhisk-plugin/host/tap/wall-clock.js';
import { ManualTime } from '../../support/manual-time.js';
import { type Conversation, Recorder, runBody, runRequest, Wire } from '../host/tap/packets.js';
import { HookRig } from './hook-rig.js';

/** A container as it really is, whatever the hook knows of it. */
interface Truth {
  readonly info: ContainerInfo;
  /** A connection that it has answered the SYN of. */
  conversation: Conversation | null;
  announced: boolean;
}

/**
 * Registry, packet reader and clock check as the tap has them, on a host whose wall clock is set at
 * will.
 */
class Host {
  readonly time = new ManualTime();
  readonly check: WallClockCheck;
  readonly recorder = new Recorder();
  readonly wire = new Wire({}, this.recorder);
  readonly registry: ContainerRegistry;
  /** By address, the container that runs there; ended ones whose end has not been told yet. */
  readonly running = new Map<string, Truth>();
  readonly ending: Truth[] = [];
  readonly starting: Truth[] = [];
  readonly problems: string[] = [];
  /** By the container that was called, the one that the call was last taken for. */
  readonly #assigned = new Map<string, string>();
  readonly #called = new Set<Truth>();
  #set = 0;
  #count = 0;
  #port = 30_000;

  constructor() {
    this.check = new WallClockCheck(this.time, () => this.time.wall() + this.#set);
    const handle = { close: () => undefined };
    const platform = {
      clock: this.time,
      limits: { open: () => handle },
      usage: { open: () => handle },
      tap: {
        bind: (address: number, startedAt: Micros) => {
          this.check.check();
          this.wire.connections.bind(
            address,
            Math.min(this.time.wall(), this.check.toSteady(startedAt)),
          );
        },
        unbind: (address: number) => this.wire.connections.unbind(address),
      },
    } as unknown as Platform;
    this.registry = new ContainerRegistry(platform, {
      container: () => ({}),
    } as unknown as Decider);
    this.wire.connections.unbind(addressOf('172.17.0.2'));
    this.recorder.request = (request) => {
      const owner = this.registry.at(request.address)?.info.name ?? 'none';
      const made = request.identity?.action.slice('/guest/'.length) ?? 'unknown';
      this.#assigned.set(made, owner);
      // Until the engine announces the next container, activations count for the earlier one; the
      // opposite is always wrong.
      if (number(owner) > number(made)) this.problems.push(`${made} was taken for ${owner}`);
    };
  }

  /**
   * Noticed at once, as by the tap's look each second: what starts in between may lose the calls of
   * its first second.
   */
  step(by: number): void {
    this.#set += by;
    this.check.check();
  }

  start(address: string): void {
    if (this.running.has(address)) return;
    const n = ++this.#count;
    const info = {
      id: `c${n}`,
      name: `wsk0_${n}_guest_f`,
      address,
      startedAt: this.time.wall() + this.#set,
    };
    const truth = { info: info as ContainerInfo, conversation: null, announced: false };
    this.running.set(address, truth);
    this.starting.push(truth);
  }

  /**
   * The engine announces starts and ends in order, but an end perhaps after the next start.
   */
  announceStart(): void {
    const truth = this.starting.shift();
    if (truth === undefined || this.running.get(truth.info.address!) !== truth) return;
    this.registry.bind(this.registry.add(truth.info)!);
    truth.announced = true;
  }

  end(address: string): void {
    const truth = this.running.get(address);
    if (truth === undefined) return;
    this.running.delete(address);
    this.ending.push(truth);
  }

  announceEnd(): void {
    const truth = this.ending.shift();
    if (truth !== undefined) this.registry.remove(truth.info.id);
  }

  connect(address: string): void {
    const truth = this.running.get(address);
    if (truth === undefined) return;
    this.#stamp();
    truth.conversation = this.wire.connect(++this.#port, { to: addressOf(address) });
  }

  /** `/run` on a connection of its own. */
  call(address: string): void {
    this.connect(address);
    const truth = this.running.get(address);
    if (truth === undefined) return;
    this.#called.add(truth);
    this.#send(truth);
  }

  /** A packet of a container that has ended since: read late. */
  late(): void {
    const truth = this.ending.find(({ conversation }) => conversation !== null);
    if (truth !== undefined) this.#send(truth);
  }

  #send(truth: Truth): void {
    this.#stamp();
    truth.conversation!.send(runRequest(runBody({ action: `/guest/${truth.info.name}` })));
  }

  /** As the tap does for each packet: the kernel stamps it by the wall clock, the tap converts. */
  #stamp(): void {
    this.check.check();
    this.wire.at = this.check.toSteady(this.time.wall() + this.#set) - 10;
  }

  /** Of what has been announced, each call is its own. */
  compare(): void {
    for (const truth of this.running.values()) {
      const { name } = truth.info;
      const isDue = truth.announced && this.#called.has(truth);
      if (isDue && this.#assigned.get(name) !== name)
        this.problems.push(`${name} is ${this.#assigned.get(name)}`);
    }
  }
}

/** `wsk0_12_guest_f` → 12; containers are numbered as they start. */
const number = (name: string): number => Number(name.split('_')[1] ?? 0);
const address = fc.constantFrom('172.17.0.2', '172.17.0.3');
/**
 * Set back by more than an announcement takes: a clock set back by less shows a start's stamp twice
 * before anybody has read it.
 */
const by = fc.oneof(
  fc.integer({ min: -7_200_000_000, max: -120_000_000 }),
  fc.integer({ min: 10_000, max: 7_200_000_000 }),
);
const command = fc.oneof(
  fc.record({ what: fc.constant('step' as const), by }),
  fc.record({
    what: fc.constantFrom('start' as const, 'end' as const, 'call' as const, 'connect' as const),
    address,
  }),
  fc.record({
    what: fc.constantFrom('announceStart' as const, 'announceEnd' as const, 'late' as const),
  }),
  fc.record({ what: fc.constant('wait' as const), by: fc.integer({ min: 1, max: 2000 }) }),
);

test('after any clock step each activation belongs to the container that ran it', (t) => {
  fc.assert(
    fc.property(fc.array(command, { minLength: 20, maxLength: 60, size: 'max' }), (commands) => {
      const host = new Host();
      for (const one of commands) {
        if (one.what === 'step') host.step(one.by);
        else if (one.what === 'wait') host.time.advance(millis(one.by));
        else if ('address' in one) host[one.what](one.address);
        else host[one.what]();
        // Between any two events some time passes.
        host.time.advance(millis(1));
        host.compare();
      }
      // One text names all: what an assertion shows.
      if (host.problems.length > 0) throw new Error(host.problems.join(', '));
    }),
    { numRuns: 1000 },
  );
  t.pass();
});

test('a container that starts after a clock step back owns its address at once', async (t) => {
  // The earlier container bears a later stamp, and its end is told after the start of the next one.
  const rig = await new HookRig().start();
  const old = rig.container({ address: '172.17.0.9' });
  rig.advance(10);
  const info = { ...rig.info({ address: '172.17.0.9', name: 'wsk0_8_guest_other' }) };
  rig.platform.listener.containerStarted({
    ...info,
    startedAt: (old.info.startedAt - 3_600_000_000) as Micros,
  });
  old.end();
  t.true(rig.platform.bound.has(addressOf('172.17.0.9')));
  t.like(rig.hook.inspect().counters, { boosts: 2 });
  await rig.hook.stop();
});
