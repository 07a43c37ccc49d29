import test from 'ava';
import type { Target } from '../../../broker/messages/index.js';
import type { Millis } from '../../../config/index.js';
import type { TargetRules } from '../../../openwhisk-plugin/control/index.js';
import { HeldTarget } from '../../../openwhisk-plugin/control/target.js';
import { Run } from '../../../openwhisk-plugin/decision/index.js';
import { decider, limits } from '../decision/helpers.js';

const rules: TargetRules = {
  host: 'h',
  boot: 'boot',
  staleMillis: 1000,
  cpuMax: 8000,
  memoryMax: 1e9,
};

const target = (changes: object = {}, author: object = {}): Target =>
  ({
    v: 1,
    function: '/guest/f',
    cpu: 500,
    epoch: 3,
    echo: { host: 'h', boot: 'boot', observedAt: 5000 },
    author: { host: 'a', boot: 'owner', sequence: 7, manager: 'greedy', ...author },
    ...changes,
  }) as unknown as Target;

test('a target is used until the observation that it answers is stale', (t) => {
  const held = new HeldTarget();
  t.is(held.accept(target(), rules, 5400), null);
  t.true(held.isFresh(6000));
  t.false(held.isFresh(6001));
  t.is(held.author, 'greedy@a');
});

test('targets with another boot, a future, stale or oversized content are refused', (t) => {
  const at = (observedAt: number) => target({ echo: { host: 'h', boot: 'boot', observedAt } });
  const other = target({ echo: { host: 'h', boot: 'other', observedAt: 5000 } });
  const held = new HeldTarget();
  t.is(held.accept(other, rules, 5400), 'wrong_boot');
  t.is(held.accept(at(5401), rules, 5400), 'future');
  t.is(held.accept(at(4399), rules, 5400), 'stale');
  t.is(held.accept(target({ cpu: 8001 }), rules, 5400), 'out_of_range');
  t.is(held.accept(target({ memory: 1e9 + 1 }), rules, 5400), 'out_of_range');
  t.false(held.isFresh(5400));
});

test('an older epoch, a repeated sequence and a second author of one epoch are refused', (t) => {
  const held = new HeldTarget();
  held.accept(target(), rules, 5400);
  t.is(held.accept(target({ epoch: 2 }), rules, 5400), 'old_epoch');
  t.is(held.accept(target(), rules, 5400), 'replayed');
  t.is(held.accept(target({}, { boot: 'second' }), rules, 5400), 'wrong_author');
  t.is(held.accept(target({}, { sequence: 8 }), rules, 5400), null);
  t.is(held.accept(target({ epoch: 4 }, { boot: 'second', sequence: 0 }), rules, 5400), null);
});

test('an epoch is forgotten after ten stale periods without a message', (t) => {
  const late = (observedAt: number) =>
    target({ epoch: 1, echo: { host: 'h', boot: 'boot', observedAt } });
  const held = new HeldTarget();
  held.accept(target(), rules, 5400);
  t.is(held.accept(late(15_400), rules, 15_400), 'old_epoch');
  t.is(held.accept(late(15_401), rules, 15_401), null);
});

test('an answer to another host names the new owner, so that the previous one is refused', (t) => {
  const held = new HeldTarget();
  held.accept(target(), rules, 5400);
  t.true(held.noteElsewhere(target({ epoch: 4 }, { boot: 'second' }), 1000, 5500));
  t.is(held.accept(target({}, { sequence: 8 }), rules, 5500), 'old_epoch');
  t.false(held.noteElsewhere(target(), 1000, 5500));
  // The target in force stays until it is stale.
  t.true(held.isFresh(6000));
});

test('a run gets an amount with a quota, a factor of the user’s CPU with weights', (t) => {
  const host = decider();
  for (const [quota, expected] of [
    [2, 500],
    [0, 2 * 1000],
  ] as const) {
    const user = limits(256, quota);
    const container = host.container(user);
    const run = new Run(
      host.functionState(`/guest/${quota}`, '0.0.1', user, 0 as Millis),
      container,
    );
    const held = new HeldTarget();
    t.false(held.applyTo(run, 5400));
    t.true(Number.isNaN(run.targetCpu));
    held.accept(target({ weightFactor: 2 }), rules, 5400);
    t.true(held.applyTo(run, 5400));
    // 8 cores and shares of 128: 1000 millicores are the user's.
    t.is(Number(run.targetCpu), expected);
  }
});

test('an amount in place of a factor changes a weight by at most two', (t) => {
  const host = decider();
  const user = limits(256, 0);
  const run = new Run(
    host.functionState('/guest/f', '0.0.1', user, 0 as Millis),
    host.container(user),
  );
  // 1000 millicores are the user's.
  for (const [cpu, expected] of [
    [8000, 2000],
    [1500, 1500],
    [10, 500],
  ] as const) {
    const held = new HeldTarget();
    held.accept(target({ cpu }), rules, 5400);
    t.true(held.applyTo(run, 5400));
    t.is(Number(run.targetCpu), expected);
  }
});

test('fields that a target does not set are unknown, and amounts at the bound are taken', (t) => {
  const held = new HeldTarget();
  t.is(held.accept(target({ cpu: 8000, memory: 1e9 }, { sequence: 0 }), rules, 5000), null);
  t.deepEqual([held.cpu, held.memory], [8000, 1e9]);
  t.deepEqual(
    [held.weightFactor, held.containers, held.concurrency],
    [Number.NaN, Number.NaN, Number.NaN],
  );
  t.is(held.accept(target({ cpu: undefined, concurrency: 3 }, { sequence: 1 }), rules, 5000), null);
  t.deepEqual([held.cpu, held.concurrency], [Number.NaN, 3]);
});

test('an owner is remembered while it answers other hosts, a second of its epoch is not', (t) => {
  const late = (observedAt: number) =>
    target({ epoch: 1, echo: { host: 'h', boot: 'boot', observedAt } });
  const held = new HeldTarget();
  held.accept(target(), rules, 5400);
  t.true(held.noteElsewhere(target(), 1000, 9000));
  t.false(held.noteElsewhere(target({}, { boot: 'second' }), 1000, 9500));
  // Ten stale periods since 9000.
  t.is(held.accept(late(19_000), rules, 19_000), 'old_epoch');
  t.is(held.accept(late(19_001), rules, 19_001), null);
});
