import test from 'ava';
import fc from 'fast-check';
import {
  TableDamagedError,
  TableForeignError,
  TableNewerError,
} from '../../../../agents/tuning/concurrency/errors.js';
import {
  checkLimit,
  isMore,
  limitGuardState,
  savedGuardOf,
} from '../../../../agents/tuning/concurrency/guard.js';
import { type SafeTunerView, safeTuner } from '../../../../agents/tuning/concurrency/safe-tuner.js';
import { loadGuard, saveGuard } from '../../../../agents/tuning/concurrency/table.js';
import {
  concurrencyTuner,
  hillClimbing,
  type LimitSearch,
  Q_DEFAULT,
  qLearning,
  type Sample,
  TUNER_DEFAULT,
} from '../../../../agents/tuning/index.js';
import { type Millis, SeededRandom } from '../../../../config/index.js';
import { sample } from './samples.js';

const { hold } = TUNER_DEFAULT;
const RANGE = { least: 1, most: 500 };

/** A guard that sees a sample each 10 s. The user asked for 50. */
function seen(samples: readonly Sample[], user = 50, allowed = RANGE) {
  let state = limitGuardState(null);
  return samples.map((one, i) => {
    const verdict = checkLimit(state, { sample: one, allowed, user }, hold, i * 10_000);
    state = verdict.state;
    return verdict;
  });
}

const held = (limit: number, part: Partial<Sample> = {}): Sample[] =>
  Array(3).fill(sample(limit, part));

test('one OOM kill above the user’s limit bars the limit and all above at once', (t) => {
  const [, , , , , , , found, after] = seen([
    ...held(50),
    ...held(70),
    sample(90),
    sample(90, { oomKills: 1 }),
    sample(70),
  ]);
  t.deepEqual(found!.found, {
    limit: 90,
    activations: 100,
    failures: 0,
    oomKills: 1,
    user: { limit: 50, activations: 150, failures: 0, oomKills: 0 },
  });
  // 70 was held for 150 activations and did no harm.
  t.is(found!.back, 70);
  t.deepEqual(found!.allowed, { least: 1, most: 89 });
  t.is(after!.found, null);
  t.is(after!.back, null);
  t.deepEqual(after!.allowed, { least: 1, most: 89 });
});

test('more failures than chance explains bar a limit; as many as the user’s do not', (t) => {
  // 150 activations at the user's, none failed. k failed of 50 here: (50/200)^k, below .001 from 5
  // on (4: .0039, 5: .00098).
  for (const [failures, barred] of [
    [4, false],
    [5, true],
  ] as const) {
    const verdicts = seen([...held(50), sample(70, { failures })]);
    t.is(verdicts.at(-1)!.found !== null, barred, `${failures} failed`);
    t.is(verdicts.at(-1)!.back, barred ? 50 : null);
  }
  // A function of which a fifth fails anyhow.
  const poor = seen([...held(50, { failures: 10 }), ...held(70, { failures: 12 })]);
  t.true(poor.every(({ found }) => found === null));
});

test('what fails rarely is found in time, over visits', (t) => {
  // A visit: 50 for 90 s, 70 for 30 s, one failure at its end. From the second on the first 30 s at
  // 50 are laid to 70, so each visit adds 300 activations to either; the first 450 and 150. k
  // failed of 300 k - 150 against 0 of 300 k + 150: (1/2 - 1/(4 k))^k is .0012 for 9 and .0006 for
  // 10.
  const visit = [...Array(9).fill(sample(50)), sample(70), sample(70), sample(70, { failures: 1 })];
  const visits = Array.from({ length: 12 }, () => visit).flat();
  t.is(
    seen(visits).findIndex(({ found }) => found !== null),
    10 * 12 - 1,
  );
});

test('the chance of a tail by Chernoff’s bound', (t) => {
  // All of k on n of n + n0: (n / (n + n0))^k exactly. (1/2)^9 = .00195, (1/2)^10 = .00098.
  t.false(isMore(9, 100, 0, 100));
  t.true(isMore(10, 100, 0, 100));
  // 2 of 100 against 0 of 3100: (1/32)^2 = .00098.
  t.true(isMore(2, 100, 0, 3100));
  t.false(isMore(1, 100, 0, 900));
  t.false(isMore(5, 100, 5, 100));
  t.false(isMore(0, 100, 0, 100));
  // 30 against 10 of as many: exp(-40 D(.75 || .5)) = exp(-40 x .1308) = .0053; 40 against 10:
  // exp(-50 x .1927) = .00007.
  t.false(isMore(30, 100, 10, 100));
  t.true(isMore(40, 100, 10, 100));
});

test('where the user’s own limit was hardly seen its activations are taken to succeed', (t) => {
  // After a restart at 90, nothing known of 50. 100 activations are supposed to have succeeded
  // there: (50/150)^k < .001 from 7 on (6: .0014).
  t.is(seen([sample(90, { failures: 6 })])[0]!.found, null);
  const [verdict] = seen([sample(90, { failures: 7 })]);
  t.is(verdict!.found?.limit, 90);
  t.is(verdict!.back, 50);
});

test('the user’s own limit and those below are never barred', (t) => {
  const killed = { failures: 50, oomKills: 5 };
  for (const limit of [50, 30, 10])
    t.true(
      seen([...held(50), ...held(limit, killed)]).every(
        ({ found, back }) => found === null && back === null,
      ),
    );
  // Killed at the user's limit as often as here.
  t.true(seen([...held(50, killed), ...held(70, killed)]).every(({ found }) => found === null));
});

test('what is killed right after the limit came down was of the higher one', (t) => {
  const late = [...held(50), ...held(90), sample(70, { oomKills: 1 })];
  const verdict = seen(late).at(-1)!;
  t.is(verdict.found?.limit, 90);
  t.is(verdict.back, null);
  // Half a minute later (the hold's time) it is its own.
  const own = [
    ...held(50),
    ...held(90),
    sample(70),
    sample(70),
    sample(70),
    sample(70, { oomKills: 1 }),
  ];
  t.is(seen(own).at(-1)!.found?.limit, 70);
});

test('where the last safe limit is none any more, the next lower one is', (t) => {
  const found = seen([
    ...held(50),
    ...held(70),
    ...held(90),
    ...held(110),
    sample(110, { oomKills: 1 }),
    sample(90),
  ]);
  t.is(found.at(-2)!.back, 90);
  const again = seen([
    ...held(50),
    ...held(70),
    ...held(90),
    ...held(110),
    sample(110, { oomKills: 1 }),
    ...held(90),
    sample(90),
    sample(90, { oomKills: 1 }),
  ]);
  t.is(again.at(-1)!.back, 70);
  // Of the namespace's range: 50 and 70 are no more allowed, so the nearest to the user's that is.
  const narrow = seen([sample(90, { oomKills: 1 })], 50, { least: 60, most: 500 });
  t.is(narrow.at(-1)!.back, 60);
  // Nothing below it is allowed.
  t.is(seen([sample(90, { oomKills: 1 })], 50, { least: 90, most: 500 }).at(-1)!.back, null);
});

test('a stored guard is loaded unchanged; damaged, foreign or newer it is refused', async (t) => {
  const owner = { function: '/guest/hello', revision: '0.0.3 at 256 MB' };
  const { state } = seen([...held(50), ...held(70), sample(90, { oomKills: 1 })]).at(-1)!;
  let text = '';
  const put = async (_: string, data: Uint8Array) => {
    text = Buffer.from(data).toString();
  };
  const load = (from: string, of = owner) =>
    loadGuard({ get: async () => Buffer.from(from), put }, of);
  await saveGuard({ get: async () => null, put }, owner, savedGuardOf(state));
  const loaded = await load(text);
  t.deepEqual(loaded, savedGuardOf(state));
  const again = limitGuardState(loaded!);
  t.is(checkLimit(again, { sample: sample(90), allowed: RANGE, user: 50 }, hold, 0).back, 70);
  const changed = (
    change: (file: Record<string, unknown> & { guard: Record<string, unknown> }) => void,
  ): string => {
    const file = JSON.parse(text);
    change(file);
    return JSON.stringify(file);
  };
  for (const damaged of [
    '',
    'null',
    text.slice(0, -9),
    changed((file) =>
      Object.assign(file.guard, { tallies: { ten: { activations: 1, failures: 0, oomKills: 0 } } }),
    ),
    changed((file) =>
      Object.assign(file.guard, { tallies: { 10: { activations: -1, failures: 0, oomKills: 0 } } }),
    ),
    changed((file) => Object.assign(file.guard, { unsafeLimit: { limit: 90 } })),
  ])
    await t.throwsAsync(load(damaged), { instanceOf: TableDamagedError }, damaged);
  await t.throwsAsync(load(text, { ...owner, revision: '0.0.4 at 256 MB' }), {
    instanceOf: TableForeignError,
  });
  await t.throwsAsync(load(changed((file) => Object.assign(file, { v: 2 }))), {
    instanceOf: TableNewerError,
  });
});

const SEARCHES = [qLearning(Q_DEFAULT), hillClimbing] as unknown as readonly LimitSearch[];

test('a harmful limit is never a target again, nor one above it or out of range', (t) => {
  fc.assert(
    fc.property(
      fc.record({
        seed: fc.integer({ min: 0, max: 2 ** 31 }),
        search: fc.constantFrom(...SEARCHES),
        user: fc.integer({ min: 1, max: 330 }),
        breaksAt: fc.integer({ min: 1, max: 400 }),
        least: fc.integer({ min: 1, max: 120 }),
        width: fc.integer({ min: 0, max: 300 }),
      }),
      ({ seed, search, user, breaksAt, least, width }) => {
        const world = new SeededRandom(seed);
        const allowed = { least, most: least + width };
        const guarded = safeTuner(concurrencyTuner(search, TUNER_DEFAULT));
        let state = guarded.initialState();
        let limit = user;
        let lowest = Number.POSITIVE_INFINITY;
        for (let i = 0; i < 300; i++) {
          const harmful = limit >= breaksAt;
          const one = sample(limit, {
            failures: harmful && world.next() < 0.5 ? world.below(50) : 0,
            oomKills: harmful && world.next() < 0.2 ? 1 : 0,
            // Nonsense now and then.
            cpu: world.next() < 0.02 ? Number.NaN : world.next(),
          });
          const view: SafeTunerView = { sample: one, allowed, frozen: world.next() < 0.1, user };
          const next = guarded.decide(state, view, (i * 10_000) as Millis, world);
          state = next.state;
          const { decision } = next;
          const { unsafeLimit } = state.guard;
          // The lowest that is known stays, or comes down.
          if (unsafeLimit === null ? lowest < Number.POSITIVE_INFINITY : unsafeLimit.limit > lowest)
            return false;
          if (unsafeLimit !== null) {
            lowest = unsafeLimit.limit;
            if (unsafeLimit.limit <= user) return false;
          }
          const moves = decision.limit !== limit;
          if (moves && (decision.limit < allowed.least || decision.limit > allowed.most))
            return false;
          if (moves && decision.limit >= lowest) return false;
          // What does harm is left, unless nothing else is allowed.
          if (limit >= lowest && !moves && allowed.least < lowest && Number.isFinite(one.cpu))
            return false;
          // Targets are applied late or never, and the agent host restarts from its store.
          if (world.next() < 0.6) limit = decision.limit;
          if (world.next() < 0.05)
            state = guarded.initialState(state.tuner.search, savedGuardOf(state.guard));
        }
        return true;
      },
    ),
    { numRuns: 60 },
  );
  t.pass();
});
