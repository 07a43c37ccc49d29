import test from 'ava';
import type { ResourceManager } from '../../../agents/index.js';
import { createManager } from '../../../agents/managers/index.js';
import { UnknownManagerError } from '../../../agents/managers/registry.js';
import type { Observation } from '../../../broker/messages/index.js';
import { MIB, type Millicores, mebibytes, millis, SeededRandom } from '../../../config/index.js';
import { amounts, granted, observation } from '../../support/observations.js';

const cap = { cpu: 4000 as Millicores, memory: mebibytes(1024) };

/** Plays observations through a manager; gives each decision as [millicores, MiB]. */
function play(
  manager: ResourceManager,
  steps: readonly Partial<Observation>[],
): [number, number][] {
  let state = manager.initialState('/guest/hello');
  return steps.map((changes) => {
    const seen = observation(changes);
    const view = {
      observation: seen,
      features: [],
      others: null,
      price: null,
      random: new SeededRandom(1),
    };
    const result = manager.decide(state, view, millis(0));
    state = result.state;
    return [result.decision.cpu!, result.decision.memory! / MIB];
  });
}

test('fixed always targets the user limits', (t) => {
  t.deepEqual(play(createManager('fixed', { cap }), [{}, { peak: amounts(5, 1) }]), [
    [1000, 256],
    [1000, 256],
  ]);
});

test('greedy starts at the user limits and follows the peaks in steps', (t) => {
  const manager = createManager('greedy', { cap });
  const decisions = play(manager, [
    {},
    // 500 <= .9 x 1000: down by max(250, 10 % of 1000) = 250; 128 <= .9 x 256: down by 64.
    { granted: granted(1000, 256) },
    // 500 <= .9 x 750: 500; 128 <= .9 x 192 = 172.8: 128.
    { granted: granted(750, 192) },
    // 500 > .9 x 500: up to 750; 128 > .9 x 128: up to 192.
    { granted: granted(500, 128) },
  ]);
  t.deepEqual(decisions, [
    [1000, 256],
    [750, 192],
    [500, 128],
    [750, 192],
  ]);
});

test('greedy continues from the grant, not from its target, if limits are enforced', (t) => {
  const manager = createManager('greedy', { cap });
  // The safeguard granted 900 instead of the target 750: the next step starts at 900.
  const decisions = play(manager, [{}, {}, { granted: granted(900, 200) }]);
  t.deepEqual(decisions[2], [650, 136]);
});

test('greedy continues from its own target if nothing is enforced', (t) => {
  const manager = createManager('greedy', { cap });
  const recommend: Partial<Observation> = { mode: 'recommend', peak: amounts(10, 10) };
  const decisions = play(manager, [
    recommend,
    recommend,
    recommend,
    recommend,
    recommend,
    recommend,
  ]);
  // CPU least: max(50, 5 % of 1000) = 50; memory least: 64 MiB.
  t.deepEqual(decisions, [
    [1000, 256],
    [750, 192],
    [500, 128],
    [250, 64],
    [50, 64],
    [50, 64],
  ]);
});

test('greedy stops at the cap, and a user limit may exceed the cap', (t) => {
  const manager = createManager('greedy', {
    cap: { cpu: 1100 as Millicores, memory: mebibytes(128) },
  });
  const busy = { peak: amounts(1000, 256) };
  t.deepEqual(play(manager, [busy, busy]), [
    [1000, 256],
    [1100, 256],
  ]);
});

test('a step without activations changes nothing; an OOM kill raises memory', (t) => {
  const manager = createManager('greedy', { cap });
  const decisions = play(manager, [
    {},
    {},
    { activations: 0, peak: amounts(0, 0), granted: granted(0, 0) },
    { oomKills: 1, granted: granted(750, 192) },
  ]);
  t.deepEqual(decisions[2], [750, 192]);
  t.deepEqual(decisions[3], [500, 320]);
});

test('the freyr preset moves by whole cores between 1 and 8', (t) => {
  const manager = createManager('greedy', { cap, preset: 'freyr' });
  const user = { ...amounts(2000, 256), shares: 256 };
  const decisions = play(manager, [
    { user },
    { user, granted: granted(2000, 256), peak: amounts(500, 250) },
    { user, granted: granted(1000, 320), peak: amounts(500, 100) },
  ]);
  t.deepEqual(decisions, [
    [2000, 256],
    [1000, 320],
    [1000, 256],
  ]);
});

test('an unknown manager is refused with the list of known ones', (t) => {
  const error = t.throws(() => createManager('constructor', { cap }), {
    instanceOf: UnknownManagerError,
  });
  t.is(error.code, 'GLN_MANAGER_UNKNOWN');
  t.regex(error.hint, /fixed, greedy/);
});
