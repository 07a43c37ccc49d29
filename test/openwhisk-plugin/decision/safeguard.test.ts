import test from 'ava';
import { type Bytes, MIB } from '../../../config/index.js';
import {
  type DecisionSettings,
  FunctionState,
  Grant,
} from '../../../openwhisk-plugin/decision/index.js';
import { cpuRange, memoryRange } from '../../../openwhisk-plugin/decision/safeguard.js';
import { freyrSettings } from '../../../openwhisk-plugin/decision/settings.js';
import { decider, host, limits, Player, plain } from './helpers.js';

const HOUR = plain.halfLife;

function cpu(
  user: number,
  peak: number,
  settings: DecisionSettings = plain,
  lastGrant = user,
): Grant {
  const fn = new FunctionState('/g/f', '1', limits(256, user / 1000), 'guarantee', 1);
  if (peak >= 0) {
    fn.clean = 1;
    fn.cpuPeak.add(peak, 0, HOUR);
    fn.lastCpuPeak = peak;
    fn.lastCpuGrant = lastGrant;
  }
  const grant = new Grant();
  grant.reset(user);
  cpuRange(grant, fn, settings, 0);
  return grant;
}

function memory(user: number, peak: number, change: (fn: FunctionState) => void = () => {}): Grant {
  const fn = new FunctionState('/g/f', '1', limits(user), 'faasrm', 1);
  fn.clean = 1;
  fn.memoryPeak.add(peak * MIB, 0, HOUR);
  fn.workingPeak.add(peak * MIB, 0, HOUR);
  change(fn);
  const grant = new Grant();
  grant.reset(user * MIB);
  memoryRange(grant, fn, plain, 0);
  return grant;
}

// unit = max(50, 5 % of user); lower = max(peak + unit, peak / .75); over when peak <=
// .9 user; floor 100; cap 8000.
const table: [user: number, peak: number, lower: number, upper: number, reason: string][] = [
  [1000, -1, 1000, 1000, 'first_activation'],
  [1000, 300, 400, 1000, 'over_provisioned'], // 350 | 400
  [1000, 100, 150, 1000, 'over_provisioned'], // 150 | 133
  [1000, 20, 100, 1000, 'over_provisioned'], // 70 | 27, floor 100
  [4000, 1900, 1900 / 0.75, 4000, 'over_provisioned'], // 2100 | 2533.3
  [4000, 300, 500, 4000, 'over_provisioned'], // unit 200: 500 | 400
  [1000, 750, 1000, 1000, 'over_provisioned'], // 800 | 1000
  [1000, 900, 1000, 1000, 'over_provisioned'], // exactly at theta: 1200, never above user
  [1000, 901, 901 / 0.75, 8000, 'under_provisioned'],
  [1000, 7000, 8000, 8000, 'under_provisioned'], // 9333 above the cap
  [50, 10, 50, 50, 'over_provisioned'], // a user limit below the floor stays
  [9000, 8500, 9000, 9000, 'under_provisioned'], // a cap below the user's limit never lowers it
];

for (const [user, peak, lower, upper, reason] of table) {
  test(`CPU user ${user} peak ${peak}: [${lower.toFixed(1)}, ${upper}] ${reason}`, (t) => {
    const grant = cpu(user, peak);
    t.is(grant.reason as string, reason);
    t.true(Math.abs(grant.lower - lower) < 1e-9);
    t.is(grant.upper, upper);
  });
}

test('memory keeps one unit of 16 MiB or a quarter above the peak, whichever is more', (t) => {
  t.is(memory(256, 100).lower, Math.ceil((100 * MIB) / 0.75)); // 116 | 133.3
  t.is(memory(512, 40).lower, 64 * MIB); // 56 | 53.3, floor 64
  t.is(memory(256, 100).upper, 256 * MIB);
  t.is(memory(256, 231).reason, 'under_provisioned'); // .9 x 256 = 230.4
  t.is(memory(256, 230).reason, 'over_provisioned');
});

test('page cache alone never asks for more than the user limit', (t) => {
  const grant = memory(256, 250, (fn) => {
    fn.workingPeak.forget();
    fn.workingPeak.raise(60 * MIB, 1, HOUR);
  });
  // 250 / .75 is above 256: the user's limit, as the working set is 60.
  t.is(grant.reason, 'over_provisioned');
  t.is(grant.lower, 256 * MIB);
  t.is(grant.upper, 256 * MIB);
});

test('growth of 1 MB/ms refuses a harvest that 130 ms would outgrow', (t) => {
  // Peak 100 MiB, lower bound 133 MiB: 33 MiB of headroom against 130 MB of growth. 100 + 124 = 224
  // of 256 is still possible.
  const grant = memory(256, 100, (fn) => fn.growth.add(1e6, 0, HOUR));
  t.is(grant.lower, 100 * MIB + 130e6);
  t.is(memory(128, 60, (fn) => fn.growth.add(1e6, 0, HOUR)).reason, 'grows_too_fast');
});

test('after an OOM kill by a lowered limit the next 20 clean runs keep the user limit', (t) => {
  const player = new Player(decider({ memoryPolicy: 'faasrm' }), limits(256, 1));
  player.whole(300, 0.2, 100);
  t.is(player.start().memory.granted, Math.ceil((100 * MIB) / 0.75));
  player.finish('oom', false);
  player.decider.oom(player.fn, (134 * MIB) as Bytes, player.now as never);
  t.is(player.fn.oomHarvest, 1);
  for (let i = 0; i < 20; i++) {
    t.is(player.whole(300, 0.2, 100).memory.granted, 256 * MIB);
  }
  // The kill itself is a sample: 134 MiB is known to be needed, and 134 / .75 = 178.7 is the bound
  // (it has hardly decayed).
  player.start();
  t.true(player.run.memory.granted < 256 * MIB);
  t.true(player.run.memory.granted > 178 * MIB);
});

test('a spike is a peak at or above .8 of a lowered limit, exactly', (t) => {
  for (const [busy, spiked] of [
    [0.4, true],
    [0.399, false],
  ] as const) {
    const player = new Player(decider({ midRun: false }, host(), 'target'), limits(256, 1));
    player.whole(200, 0.2);
    player.run.reset(player.fn, player.container);
    player.start();
    player.run.cpu.granted = 500;
    player.sample(100, busy);
    player.finish();
    t.is(player.fn.cpuSpiked, spiked, `${busy}`);
  }
});

test('a function that steadily uses 1.9 of 4 cores is harvested and never trips', (t) => {
  const player = new Player(decider(), limits(256, 4));
  t.is(player.whole(500, 1.9).cpu.reason, 'first_activation');
  for (let i = 0; i < 50; i++) {
    const run = player.whole(500, 1.9);
    t.is(run.cpu.reason, 'over_provisioned');
    t.true(Math.abs(run.cpu.granted - 1900 / 0.75) < 1e-6);
    t.false(run.trippedCpu);
  }
});

test('the published preset alternates on the same function, as in the paper', (t) => {
  const player = new Player(decider(freyrSettings('freyr-code')), limits(256, 4));
  const granted = [0, 1, 2, 3, 4, 5].map(() => player.whole(500, 1.9).cpu.granted);
  // 1.9 of 4 = over; floor(1.9) + 1 = 2 cores; 1.9 / 2 = .95 >= .9 = spike: 4 cores again.
  t.deepEqual(granted, [4000, 2000, 4000, 2000, 4000, 2000]);
});

test('the published program: ratio rules with .9 and whole cores', (t) => {
  const code = freyrSettings('freyr-code');
  t.is(cpu(4000, -1, code).reason, 'first_activation');
  t.is(cpu(4000, 1200, code).lower, 2000);
  t.is(cpu(4000, 2000, code).lower, 3000); // a whole unit above an exact number
  // Exactly T of the user limit is over-provisioned, and exactly T of the allocation a spike.
  t.is(cpu(4000, 3600, code).reason, 'spike');
  t.is(cpu(4000, 3600, code, 4001).reason, 'over_provisioned');
  t.is(cpu(4000, 3601, code).reason, 'under_provisioned');
  t.deepEqual([cpu(4000, 3601, code).lower, cpu(4000, 3601, code).upper], [4000, 8000]);
  t.is(cpu(4000, 1800, code, 2000).reason, 'spike');
  t.is(cpu(4000, 1799, code, 2000).reason, 'over_provisioned');
  t.is(cpu(8000, 8000, code).lower, 8000);
});

test('the published text: below the user limit is over-provisioned, .8 is a spike', (t) => {
  const paper = freyrSettings('freyr-paper');
  t.is(cpu(4000, 1600, paper, 2000).reason, 'spike');
  t.is(cpu(4000, 1599, paper, 2000).reason, 'over_provisioned');
  t.is(cpu(4000, 4000, paper).reason, 'under_provisioned');
  t.deepEqual([cpu(4000, 4000, paper).lower, cpu(4000, 4000, paper).upper], [5000, 8000]);
});

test('a failure keeps the user limit until a run succeeds', (t) => {
  const player = new Player(decider(), limits(256, 1));
  player.whole(300, 0.2);
  t.is(player.start(player.now + 1).cpu.reason, 'over_provisioned');
  player.finish('failure');
  t.is(player.start(player.now + 1).cpu.reason, 'failure');
  t.is(Number(player.run.quota), 1000);
  player.sample(100, 0.2);
  player.finish();
  t.is(player.start(player.now + 1).cpu.reason, 'over_provisioned');
});

test('runs shorter than 50 ms give no peak, and so keep the user limit', (t) => {
  const player = new Player(decider(), limits(256, 1));
  for (let i = 0; i < 5; i++) {
    player.start(player.now + 100);
    player.sample(49, 0.1);
    player.finish();
  }
  t.is(player.start(player.now + 1).cpu.reason, 'no_peak');
  t.is(Number(player.run.quota), 1000);
});

test('an unclean or unknown end is not used for learning', (t) => {
  const player = new Player(decider(), limits(256, 1));
  player.start();
  player.sample(100, 0.2);
  player.finish('success', false);
  player.start();
  player.sample(100, 0.2);
  player.finish('unknown', true);
  t.is(player.start().cpu.reason, 'first_activation');
});
