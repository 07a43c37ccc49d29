import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { RIGHT_SIZE_DEFAULT, rightSizeManager } from '../../../agents/managers/right-size.js';
import { MIB } from '../../../config/index.js';
import { amounts } from '../../support/observations.js';
import { play, type Step } from './play.js';

const manager = rightSizeManager(RIGHT_SIZE_DEFAULT);
const asks = (mib: number): Step['user'] => ({ ...amounts(1000, mib), shares: 256 });
const peaks = (mib: number, changes: Step = {}): Step => ({ peak: amounts(500, mib), ...changes });
const sizes = (steps: Step[]): (number | undefined)[] =>
  play(manager, steps).decisions.map((d) => d.nominalMemory && d.nominalMemory / MIB);
const times = (count: number, step: Step): Step[] => new Array<Step>(count).fill(step);

test('the size falls after 100 activations, to peak + margin rounded up', (t) => {
  // 20 activations a step. 100 MiB + max(25, 32) = 132: 192. 150 + 37.5 = 187.5: 192. 160 + 40 =
  // 200: 256, the user's.
  t.deepEqual(sizes(times(6, peaks(100))), [256, 256, 256, 256, 192, 192]);
  t.deepEqual(sizes(times(5, peaks(150))).at(-1), 192);
  t.deepEqual(sizes(times(5, peaks(160))).at(-1), 256);
  t.deepEqual(sizes(times(5, peaks(40))).at(-1), 128);
  t.deepEqual(
    sizes(times(30, { activations: 0, peak: amounts(0, 0) })).at(-1),
    256,
    'nothing is known of it',
  );
});

test('the size rises at once, and falls again after 30 s and 100 activations', (t) => {
  const steps = [...times(5, peaks(100)), peaks(170), ...times(13, peaks(100))];
  const all = sizes(steps);
  // 170 + 42.5 = 212.5: 256. It counts whole for the 8 newest steps: the 8 from it on, then decays
  // by 2^(-10 s / 1 h) a step: 170 x 2^(-90/3600) = 167.1 + 41.8 = 208.9 still means 256.
  t.deepEqual(all.slice(4, 6), [192, 256]);
  t.true(all.slice(6).every((size) => size === 256));
  // An hour and a half later it is 60.1, and the newest steps' 100 count.
  const later = peaks(100, { now: 5_500_000 });
  t.is(sizes([...steps, later]).at(-1), 192);
});

test('an OOM kill below the user limit restores it for 1000 activations', (t) => {
  const small = asks(192);
  const fallen = times(5, peaks(100));
  const kill = peaks(192, { user: small, oomKills: 1 });
  const now = 10_000_000;
  const after = Array.from({ length: 51 }, (_, i) => peaks(100, { now: now + i * 10_000 }));
  const all = sizes([...fallen, kill, ...after]);
  t.is(all[5], 256);
  // The kill's 192 has decayed by then; barred for the 50 steps of 20 activations after it.
  t.true(all.slice(6, 55).every((size) => size === 256));
  t.is(all[55], 192);
});

test('kills at the user limit raise the size once', (t) => {
  // max(1.2 x 256 MiB, 256 MiB + 100 MiB) = 356 MiB: 384. The same kill again asks for the same.
  const kill = { oomKills: 1, activations: 0, peak: amounts(0, 0) };
  t.deepEqual(sizes(times(10, kill)), new Array(10).fill(384));
  // With 384 in force: 460.8 or 484 MiB: 512, the end of the range.
  const more = { ...kill, user: asks(384) };
  t.deepEqual(sizes([kill, more, more, { ...kill, user: asks(512) }]), [384, 512, 512, 512]);
});

test('an observed limit that this manager set is not taken for the user’s', (t) => {
  const applied = peaks(100, { user: asks(192) });
  const { state } = play(manager, [...times(5, peaks(100)), applied, applied]);
  t.is(state.user, 256 * MIB);
  const changed = play(manager, [
    ...times(5, peaks(100)),
    applied,
    peaks(100, { user: asks(512) }),
  ]);
  t.is(changed.state.user, 512 * MIB);
  t.is(changed.state.activations, 20, 'its history is reset');
});

test('without a memory limit there is no target', (t) => {
  t.deepEqual(play(manager, [peaks(100, { user: asks(0) })]).decisions, [{ actions: [0, 0, 0] }]);
});

testProp(
  'the size always holds the highest of the newest eight peaks',
  [
    fc.array(
      fc.record({
        peak: fc.integer({ min: 1, max: 800 }),
        oom: fc.nat(8),
        gap: fc.integer({ min: 1, max: 1e6 }),
      }),
      {
        minLength: 1,
        maxLength: 40,
      },
    ),
    fc.integer({ min: 64, max: 1024 }),
  ],
  (t, steps, user) => {
    let now = 0;
    const all = sizes(
      steps.map(({ peak, oom, gap }) => {
        now += gap;
        return peaks(peak, { now, oomKills: oom === 8 ? 1 : 0, user: asks(user) });
      }),
    );
    const most = Math.max(512, user);
    all.forEach((size, i) => {
      const highest = Math.max(...steps.slice(Math.max(0, i - 7), i + 1).map((s) => s.peak));
      t.true(size !== undefined && size <= most && size >= Math.min(128, user));
      t.true(size! >= Math.min(most, highest));
    });
  },
);
