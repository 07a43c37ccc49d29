import test from 'ava';
import type { Millis } from '../../../config/index.js';
import { type Decider, sharesRange } from '../../../openwhisk-plugin/decision/index.js';
import { decider, host, limits, Player } from './helpers.js';

/** On a host where the whole range needs a common factor of 16. */
function onLargeHost(preset: 'default' | 'freyr-code', weight: string): Decider {
  const one = decider({ preset }, host(), 'smallest-in-range', weight);
  one.weights.observe(sharesRange(2));
  return one;
}

test('weights have a common factor only if the policy’s are relative to each other', (t) => {
  t.is(onLargeHost('default', 'short-first').shares.commonWeight, 16);
  t.is(onLargeHost('default', 'target').shares.commonWeight, 1);
  t.is(onLargeHost('freyr-code', 'short-first').shares.commonWeight, 1);
});

test('the published presets boost a cold start by 16, whatever the policy orders', (t) => {
  const one = onLargeHost('freyr-code', 'short-first');
  const container = one.container(limits(256));
  one.shares.beginBoost(container, 0 as Millis);
  t.is(container.shares, 16 * 128);
});

test('at a new common factor a weight keeps its place, within the range and the kernel’s', (t) => {
  const one = onLargeHost('default', 'short-first');
  const scaled = (own: number, before: number): number => {
    const container = one.container(limits(256, 0, own));
    container.shares = before;
    one.shares.rescale(container, 1);
    return container.shares;
  };
  t.is(scaled(32, 64), 16 * 64);
  t.is(scaled(2, 2 * 4096), 16 * 2 * 4096);
  t.is(scaled(2, 2 * 5000), 16 * 2 * 4096, 'beyond the range');
  t.is(scaled(32, 32 * 4096), 262_144);
});

test('an idle container’s weight falls to the neutral one, and never rises to it', (t) => {
  const one = decider();
  const container = one.container(limits(256));
  const neutralized = (shares: number): [boolean, number] => {
    container.shares = shares;
    return [one.shares.neutralize(container), container.shares];
  };
  // Nothing runs: its own weight.
  t.deepEqual(neutralized(512), [true, 128]);
  t.deepEqual(neutralized(128), [false, 128]);
  t.deepEqual(neutralized(64), [false, 64]);
});

test('weights that the user’s own replace are counted no more', (t) => {
  const player = new Player(decider(), limits(256));
  const { container } = player;
  player.start();
  container.shares = 1024;
  player.decider.weights.update(container);
  player.decider.shares.restoreUser(container);
  t.deepEqual([container.shares, player.decider.weights.inForce], [128, 128]);
});
