import test from 'ava';
import { mebibytes } from '../../../config/index.js';
import {
  type JournalEntry,
  keptSinceKill,
  killedSizes,
  nextWave,
  openChanges,
  recommendSizes,
} from '../../../openwhisk-plugin/openwhisk-api/index.js';
import {
  type SizingInputs,
  savedPerHour,
} from '../../../openwhisk-plugin/openwhisk-api/rollout.js';
import { coldStartRate, keepAliveTime } from '../../../openwhisk-plugin/openwhisk-api/warm-pool.js';
import { noPeakExcess } from '../../../rules/index.js';
import { adviceOf, HOUR, RULES } from './advice.js';

const NOW = 1_000 * HOUR;

function inputs(
  changes: Partial<SizingInputs> & { entries?: readonly JournalEntry[] } = {},
): SizingInputs {
  const { entries = [], ...rest } = changes;
  return {
    advice: [],
    hosts: [],
    peaks: noPeakExcess(),
    open: openChanges(entries),
    killed: killedSizes(entries),
    rules: RULES,
    now: NOW,
    ...rest,
  };
}

/** What the journal has of a change by right-sizing, from 512 MB, answered. */
function changed(fn: string, memory: number, at: number): JournalEntry[] {
  const line = { v: 1 as const, function: fn, at };
  return [
    {
      ...line,
      kind: 'intent',
      version: '0.0.1',
      original: { memory: 512 },
      to: { memory },
      why: 'right-size',
    },
    { ...line, kind: 'done', version: '0.0.2' },
  ];
}
const waveOf = (given: SizingInputs, kept = 0) => nextWave(recommendSizes(given), given, kept);

test('a recommendation says what it rests on, frees and costs', (t) => {
  const advice = [adviceOf('/a/f', { containers: 3, activations: 199 })];
  const [one] = recommendSizes(inputs({ advice }));
  // 3 containers x (512 - 192) MiB; of 199 calls alike the 200th is the largest with chance 1 /
  // 200.
  t.like(one, {
    from: mebibytes(512),
    to: mebibytes(192),
    frees: mebibytes(960),
    costs: 3,
    uncertainty: 1 / 200,
    saves: null,
    verdict: 'ready',
  });
});

test('those that free most come first', (t) => {
  const advice = [
    adviceOf('/a/little', { containers: 1 }),
    adviceOf('/a/much', { containers: 9 }),
    adviceOf('/a/none', { sizeMiB: 512 }),
  ];
  t.deepEqual(
    recommendSizes(inputs({ advice })).map((one) => one.function),
    ['/a/much', '/a/little'],
  );
});

test('each lack of evidence has its name, and its boundary', (t) => {
  const verdict = (
    changes: Parameters<typeof adviceOf>[1],
    more: Parameters<typeof inputs>[0] = {},
  ) => recommendSizes(inputs({ advice: [adviceOf('/a/f', changes)], ...more }))[0]?.verdict;
  t.is(verdict({ activations: 99 }), 'too few activations');
  t.is(verdict({ activations: 100 }), 'ready');
  t.is(verdict({ seen: (HOUR - 1) as never }), 'too short a time');
  t.is(verdict({ seen: HOUR as never }), 'ready');
  t.is(verdict({ killedAt: mebibytes(192) }), 'killed at this size');
  t.is(verdict({ killedAt: mebibytes(128) }), 'ready');
  t.is(verdict({ sizeMiB: 640, killedAt: mebibytes(512) }), 'its own limit is too small');
  const killed = (at: number): JournalEntry[] => [
    { v: 1, kind: 'killed', function: '/a/f', at, memory: 192 },
  ];
  t.is(verdict({}, { entries: killed(NOW - RULES.killedSizeHoldTime + 1) }), 'killed at this size');
  t.is(verdict({}, { entries: killed(NOW - RULES.killedSizeHoldTime) }), 'ready');
  t.is(verdict({ sizeMiB: 256 }, { entries: killed(NOW) }), 'ready');
});

test('a written size that becomes too small is raised at once, up to the user’s', (t) => {
  const given = inputs({
    advice: [
      adviceOf('/a/f', { limitMiB: 192, sizeMiB: 640, activations: 1, recent: mebibytes(180) }),
    ],
    entries: changed('/a/f', 192, NOW),
  });
  t.like(recommendSizes(given)[0], { to: mebibytes(512), verdict: 'raise' });
  // It is raised although it is being watched and no other action may change.
  t.deepEqual(waveOf(given).requests, [
    { function: '/a/f', memory: mebibytes(512), why: 'right-size' },
  ]);
});

test('a size of ours whose margin is used in part is left: it would go up and down', (t) => {
  // 174 x 1.1 = 191.4 of 192: within it; 175 x 1.1 = 192.5: not.
  const verdict = (recentMiB: number) => {
    const advice = [
      adviceOf('/a/f', { limitMiB: 192, sizeMiB: 256, recent: mebibytes(recentMiB) }),
    ];
    return recommendSizes(inputs({ advice, entries: changed('/a/f', 192, 0) }))[0]?.verdict;
  };
  t.is(verdict(174), undefined);
  t.is(verdict(175), 'raise');
});

test('what was changed recently is not made smaller still', (t) => {
  const verdict = (at: number) => {
    const advice = [adviceOf('/a/f', { limitMiB: 256 })];
    return recommendSizes(inputs({ advice, entries: changed('/a/f', 256, at) }))[0]?.verdict;
  };
  t.is(verdict(NOW - RULES.holdTime + 1), 'changed recently');
  t.is(verdict(NOW - RULES.holdTime), 'ready');
});

test('a few actions are changed and watched at a time; an OOM kill restarts the count', (t) => {
  const names = Array.from({ length: 8 }, (_, i) => `/a/f${i}`);
  const small = (fn: string, activationsAtLimit: number) =>
    adviceOf(fn, { limitMiB: 192, activationsAtLimit });
  const fresh = inputs({ advice: names.map((fn) => adviceOf(fn)) });
  t.deepEqual(
    waveOf(fresh).requests.map((request) => request.function),
    ['/a/f0', '/a/f1'],
  );

  const entries = [
    ...changed('/a/f0', 192, NOW - RULES.watchTime),
    ...changed('/a/f1', 192, NOW - RULES.watchTime),
  ];
  const rest = names.slice(2).map((fn) => adviceOf(fn));
  // 50 activations at the new size and half an hour: one less, or one ms less, and no other is
  // changed.
  const early = inputs({ entries, advice: [small('/a/f0', 49), small('/a/f1', 49), ...rest] });
  t.deepEqual(waveOf(early), { killed: [], kept: [], requests: [] });
  const soon = inputs({
    entries,
    advice: [small('/a/f0', 50), small('/a/f1', 50), ...rest],
    now: NOW - 1,
  });
  t.deepEqual(waveOf(soon), { killed: [], kept: [], requests: [] });
  const good = inputs({ entries, advice: [small('/a/f0', 50), small('/a/f1', 50), ...rest] });
  // 2 canaries + 2 found good = 4 at a time.
  t.deepEqual(waveOf(good).kept, ['/a/f0', '/a/f1']);
  t.is(waveOf(good).requests.length, 4);

  const killed = inputs({
    entries,
    advice: [
      adviceOf('/a/f0', { limitMiB: 192, killedAt: mebibytes(192) }),
      small('/a/f1', 50),
      ...rest,
    ],
  });
  const wave = waveOf(killed, 20);
  t.like(wave.killed, [{ size: 192, change: { function: '/a/f0' } }]);
  t.deepEqual(wave.requests, []);
  const at = NOW;
  const after: JournalEntry[] = [
    ...entries,
    { v: 1, kind: 'kept', function: '/a/f1', at },
    { v: 1, kind: 'killed', function: '/a/f0', at, memory: 192 },
  ];
  t.is(keptSinceKill(after), 0);
  t.is(keptSinceKill([...after, { v: 1, kind: 'kept', function: '/a/f1', at }]), 1);
  t.false(openChanges(after).has('/a/f0'));
});

test('a function that is hardly called holds the others up for ten watches and no longer', (t) => {
  const entries = ['/a/f0', '/a/f1'].flatMap((fn) => changed(fn, 192, NOW));
  const silent = ['/a/f0', '/a/f1'].map((fn) =>
    adviceOf(fn, { limitMiB: 192, activationsAtLimit: 1 }),
  );
  const at = (now: number) =>
    waveOf(inputs({ entries, advice: [...silent, adviceOf('/a/f2')], now })).requests.length;
  t.is(at(NOW + 10 * RULES.watchTime - 1), 0);
  t.is(at(NOW + 10 * RULES.watchTime), 1);
});

test('changes from before the clock was set back hold up no others', (t) => {
  const names = ['/a/f0', '/a/f1'];
  const advice = [
    ...names.map((fn) => adviceOf(fn, { limitMiB: 256, activationsAtLimit: 1 })),
    adviceOf('/a/f2'),
  ];
  const given = (ahead: number) =>
    inputs({ entries: names.flatMap((fn) => changed(fn, 256, NOW + ahead)), advice });
  const verdicts = (ahead: number) => recommendSizes(given(ahead)).map(({ verdict }) => verdict);
  // A clock that is corrected by seconds was not wrong.
  const now = ['ready', 'changed recently', 'changed recently'];
  t.deepEqual([verdicts(0), verdicts(60_000)], [now, now]);
  t.deepEqual(waveOf(given(60_000)).requests, []);
  t.deepEqual(verdicts(60_001), ['ready', 'ready', 'ready']);
  t.deepEqual(
    waveOf(given(60_001)).requests.map((request) => request.function),
    ['/a/f2'],
  );
});

test('a size that its owner or the tuner changed is neither watched nor undone', (t) => {
  const entries: JournalEntry[] = [
    {
      v: 1,
      kind: 'intent',
      function: '/a/f',
      at: NOW,
      version: '0.0.1',
      original: { memory: 512 },
      to: { memory: 192 },
    },
  ];
  const advice = [adviceOf('/a/f', { limitMiB: 192, killedAt: mebibytes(192) })];
  t.deepEqual(waveOf(inputs({ entries, advice })).killed, []);
});

test('an idle container lives ten minutes, or until its memory is needed', (t) => {
  const uses = [
    { rate: 0.01, size: 100, busy: 0 },
    { rate: 0.01, size: 300, busy: 0 },
  ];
  // All that 600 s keep: 400 x (1 - e^-6) = 399.0.
  t.is(keepAliveTime(uses, 400), 600);
  // 400 (1 - e^(-.01 T)) = 200 at T = 100 ln 2 = 69.3 s.
  t.true(Math.abs(keepAliveTime(uses, 200) - 100 * Math.LN2) < 1e-6);
  // Two functions x .01 calls a second x e^-.693 = .01 cold starts a second.
  t.true(Math.abs(coldStartRate(uses, 100 * Math.LN2) - 0.01) < 1e-9);
  t.is(keepAliveTime(uses, 0), 0);
  // Ten containers at work take 3000 of 3010 all the time: at 4000 nothing is left for idle
  // ones.
  t.true(keepAliveTime([{ rate: 1, size: 300, busy: 10 }], 3010) < 0.04);
});

/**
 * Two functions of .01 calls a second each, 36 cold starts in two hours: together .01 a second, as
 * many as is derived below.
 */
const pair = (coldStarts: number) =>
  ['/a/f', '/a/g'].map((fn) =>
    adviceOf(fn, { rate: 0.01, busy: 0 as never, sizeMiB: 256, containers: 2, coldStarts }),
  );

test('halved sizes in half the memory save all cold starts within ten minutes', (t) => {
  // Before: T = 69.3 s, half of .02 calls a second cold. After: the room holds both, T = 600 s,
  // e^-6 of them cold.
  const saved = 3600 * (0.01 - 0.02 * Math.exp(-6));
  t.true(Math.abs(savedPerHour(pair(36), mebibytes(512)) - saved) < 0.01);
  // Seen more often, or half as often, than estimated.
  t.true(Math.abs(savedPerHour(pair(50), mebibytes(512)) - saved) < 0.01);
  t.true(Math.abs(savedPerHour(pair(18), mebibytes(512)) - saved / 2) < 0.01);
  t.is(savedPerHour(pair(0), mebibytes(512)), 0);
});

test('what cost exceeds benefit its own cold starts back in time is not written', (t) => {
  const advice = pair(36);
  const hosts = [{ host: 'h', userMemory: mebibytes(512) }];
  // 35.8 cold starts an hour saved, 17.9 by each; each costs 2: paid back after .112 h.
  const verdicts = (payBack: number) =>
    recommendSizes(inputs({ advice, hosts, rules: { ...RULES, payBack } })).map(
      ({ verdict }) => verdict,
    );
  t.deepEqual(verdicts(0.12 * HOUR), ['ready', 'ready']);
  t.deepEqual(verdicts(0.11 * HOUR), ['cost exceeds benefit', 'cost exceeds benefit']);
  // Room for all: nothing is saved.
  const ample = [{ host: 'h', userMemory: mebibytes(4096) }];
  const [one] = recommendSizes(
    inputs({ advice, hosts: ample, rules: { ...RULES, payBack: 24 * HOUR } }),
  );
  t.like(one, { saves: 0, verdict: 'cost exceeds benefit' });
});
