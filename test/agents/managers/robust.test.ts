import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { createManager } from '../../../agents/managers/index.js';
import { isValidObservation } from '../../../agents/validation.js';
import type { Observation } from '../../../broker/messages/index.js';
import {
  type Bytes,
  type Millicores,
  type Millis,
  managers,
  mebibytes,
  SeededRandom,
} from '../../../config/index.js';
import { observation } from '../../support/observations.js';

const cap = { cpu: 4000 as Millicores, memory: mebibytes(1024) };

const amount = (max: number) => fc.double({ min: 0, max, noNaN: true });
const resources = fc.record({ cpu: amount(16_000), memory: amount(2 ** 32) });
const spread = (max: number) =>
  fc.record({ min: amount(max), mean: amount(max), max: amount(max) });
const sound = fc.record({
  host: fc.constantFrom('a', 'b', 'c'),
  span: amount(20_000),
  mode: fc.constantFrom('enforce', 'recommend'),
  cpuMode: fc.constantFrom('quota', 'weight'),
  activations: fc.nat(50),
  coldStarts: fc.nat(5),
  oomKills: fc.nat(1),
  running: fc.nat(5),
  latency: fc.record({
    first: fc.constant(0),
    counts: fc.constant([]),
    sum: amount(1e6),
    max: amount(1e5),
  }),
  peak: resources,
  used: resources,
  user: fc.record({
    cpu: fc.double({ min: 1, max: 16_000, noNaN: true }),
    memory: fc.constantFrom(0, 128 * 2 ** 20, 2 ** 28, 2 ** 33),
    shares: fc.constant(256),
  }),
  granted: fc.record({ cpu: spread(16_000), memory: spread(2 ** 32) }),
  containers: fc.nat(30),
  concurrency: fc.integer({ min: 1, max: 10 }),
});
/** Some member is invalid. */
const garbage = fc.oneof(
  fc.record({ span: fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1) }),
  fc.record({ used: fc.record({ cpu: fc.constantFrom(Number.NaN, -5), memory: amount(1) }) }),
  fc.record({
    peak: fc.record({
      cpu: amount(1),
      memory: fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY),
    }),
  }),
  fc.record({
    user: fc.record({ cpu: fc.constantFrom(Number.NaN, 0), memory: amount(1), shares: amount(1) }),
  }),
  fc.record({ activations: fc.constantFrom(Number.NaN, -1) }),
  fc.record({ containers: fc.constantFrom(Number.NaN, Number.NEGATIVE_INFINITY) }),
);
const step = fc.record({
  gap: amount(100_000),
  price: amount(1),
  seen: fc.oneof({ weight: 5, arbitrary: sound }, garbage),
});

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) frozen(member);
  }
  return value;
}

const finite = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isFinite(value)
    : typeof value !== 'object' || value === null || Object.values(value).every(finite);

for (const name of managers) {
  testProp(
    `${name}: an invalid observation changes nothing; targets are within the caps`,
    [fc.array(step, { maxLength: 30 }), fc.constantFrom('default', 'freyr')],
    (t, steps, preset) => {
      const manager = createManager(name, { cap, preset: preset as 'default' });
      let state = frozen(manager.initialState('/guest/hello'));
      let now = 0;
      for (const { gap, price, seen } of steps) {
        now += gap;
        const input = frozen(observation(seen as Partial<Observation>));
        const view = {
          observation: input,
          features: [],
          others: null,
          price: { cpu: price, memory: 0 },
          random: new SeededRandom(1),
        };
        const result = manager.decide(state, view, now as Millis);
        const { cpu, memory, nominalMemory, containers, weightFactor, actions } = result.decision;
        if (!isValidObservation(input)) {
          t.deepEqual(result, { state, decision: { actions: [0, 0, 0] } });
          continue;
        }
        t.true(finite(result.decision) && finite(result.state), JSON.stringify(result));
        t.deepEqual(
          JSON.parse(JSON.stringify(result.state)),
          result.state,
          'the state can rest as JSON',
        );
        const { user } = input;
        if (cpu !== undefined) t.true(cpu > 0 && cpu <= Math.max(cap.cpu, user.cpu));
        for (const target of [memory, nominalMemory]) {
          if (target !== undefined)
            t.true(
              target > 0 && target <= Math.max(cap.memory, user.memory) && Number.isInteger(target),
            );
          if (user.memory === 0) t.is(target, undefined);
        }
        if (containers !== undefined)
          t.true(containers >= 1 && containers <= 20 && Number.isInteger(containers));
        if (weightFactor !== undefined) t.true(weightFactor >= 1 / 64 && weightFactor <= 64);
        t.true(actions.every((a) => [-1, 0, 1].includes(a)));
        t.deepEqual(
          manager.decide(state, view, now as Millis),
          result,
          'the same input gives the same answer',
        );
        state = frozen(result.state);
      }
      const phases: Record<string, string> = {
        simppo: 'serving',
        'single-agent': 'serving',
        aware: 'offline',
      };
      const learns = Object.hasOwn(phases, name);
      t.is(manager.phase(state), phases[name] ?? 'managing');
      t.is(manager.retrain !== undefined, learns);
    },
    { numRuns: 60 },
  );
}

test('a time that is not a number is invalid', (t) => {
  const manager = createManager('fixed', { cap });
  const view = {
    observation: observation(),
    features: [],
    others: null,
    price: null,
    random: new SeededRandom(1),
  };
  t.deepEqual(manager.decide(null, view, Number.NaN as Millis).decision, { actions: [0, 0, 0] });
  const noMemory = {
    ...view,
    observation: observation({ user: { cpu: 1 as Millicores, memory: 0 as Bytes, shares: 2 } }),
  };
  t.deepEqual(manager.decide(null, noMemory, 0 as Millis).decision, { cpu: 1, actions: [0, 0, 0] });
});
