import { fc, testProp } from '@fast-check/ava';
import {
  type Bytes,
  MIB,
  type Millicores,
  type Millis,
  SeededRandom,
} from '../../../config/index.js';
import {
  createPolicy,
  Decider,
  defaultDecisionSettings,
} from '../../../openwhisk-plugin/decision/index.js';
import { host, limits, Player, plain } from './helpers.js';

const POLICIES = ['smallest-in-range', 'largest-in-range', 'random-in-range', 'target'];

/** Plays random activations of three functions on a small host; returns all that was granted. */
function play(
  seed: number,
  policy: string,
  check: (player: Player, action: string) => void,
): number[] {
  const settings = {
    ...defaultDecisionSettings,
    memoryPolicy: 'faasrm' as const,
    controlShare: 0.2,
  };
  const policies = { quota: createPolicy(policy), weight: createPolicy('short-first') };
  const one = new Decider(settings, host(2), policies, new SeededRandom(seed));
  const random = new SeededRandom(seed + 1);
  const players = [0.5, 1, 0.5].map((cores, i) => new Player(one, limits(256, cores), `/g/${i}`));
  const granted: number[] = [];
  let now = 0;
  for (let i = 0; i < 120; i++) {
    const player = players[random.below(3)] as Player;
    now += random.next() * 200;
    if (player.container.running === 0) {
      player.now = now;
      player.run.reset(player.fn, player.container);
      if (random.next() < 0.7) {
        player.run.targetCpu = (random.next() * 3000 - 200) as Millicores;
        player.run.targetMemory = (random.next() * 600 * MIB - MIB) as Bytes;
      }
      one.start(player.run, now as Millis);
      granted.push(player.run.cpu.granted, player.run.memory.granted);
      check(player, 'start');
    } else if (random.next() < 0.6) {
      const action = player.sample(
        now - player.now,
        random.next() * 1.5,
        random.next() * 250,
        random.next() < 0.1 ? 1 : 0,
      );
      check(player, action);
    } else {
      player.now = now;
      player.finish(random.next() < 0.9 ? 'success' : 'failure', random.next() < 0.9);
    }
    one.takeChanged((container, why) =>
      check(players.find((each) => each.container === container) as Player, why),
    );
  }
  return granted;
}

testProp(
  'limits stay within floor and cap, loans within the host, and a trip always ends at user limits',
  [fc.nat(), fc.constantFrom(...POLICIES)],
  (t, seed, policy) => {
    play(seed, policy, (player, action) => {
      const { cpu, memory, quota, memoryLimit } = player.run;
      t.true(cpu.granted >= plain.cpuFloor - 1e-6 && cpu.granted <= plain.cpuCap + 1e-6);
      t.true(memory.granted >= plain.memoryFloor && memory.granted <= plain.memoryCap);
      t.is(Number(quota), cpu.granted);
      t.is(Number(memoryLimit), Math.floor(memory.granted));
      t.true(player.decider.cpuPool.granted <= 2000 + 1e-4);
      if (action === 'restore_cpu' || action === 'restore_both') t.true(cpu.granted >= cpu.user);
      if (action === 'restore_memory' || action === 'restore_both')
        t.true(memory.granted >= memory.user);
      if (player.run.control && action === 'start')
        t.deepEqual([cpu.granted, memory.granted], [cpu.user, memory.user]);
    });
  },
);

testProp(
  'the same seed gives the same run',
  [fc.nat(), fc.constantFrom(...POLICIES)],
  (t, seed, policy) => {
    t.deepEqual(
      play(seed, policy, () => {}),
      play(seed, policy, () => {}),
    );
  },
);
