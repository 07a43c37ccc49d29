import test from 'ava';
import { Explanations } from '../../../openwhisk-plugin/control/explanations.js';

const grant = (from: number, reason: string, choice: string) => ({
  user: from,
  demand: from + 1,
  lower: from + 2,
  upper: from + 3,
  granted: from + 4,
  borrowed: from + 5,
  peak: from + 6,
  reason,
  choice,
});

/** Every figure another number, so that none can stand in another's place. */
const ended = (n: number, flags = true) =>
  ({
    id: `id${n}`,
    revision: { version: '0.0.1' },
    container: { id: 'c'.repeat(64), user: { shares: 128 } },
    startedAt: n,
    duration: 5000,
    initMicros: 7000,
    cold: flags,
    reason: 'answer',
    status: 502,
    clean: !flags,
    limitsChanged: flags,
    run: {
      control: flags,
      enforced: !flags,
      shares: 129,
      container: { mode: 'quota', memoryLoan: 11 },
      trippedCpu: flags,
      trippedMemory: !flags,
      targetCpu: 13,
      targetMemory: Number.NaN,
      harvested: 15,
      accelerated: 16,
      saved: 17,
      cpu: grant(20, 'spike', 'clipped'),
      memory: grant(30, 'guarantee', 'loan'),
    },
  }) as never;

test('an explanation shows the figures of its activation', (t) => {
  for (const flags of [true, false]) {
    const explanations = new Explanations();
    explanations.record(ended(3, flags));
    const { reason: cpuReason, ...cpu } = grant(20, 'spike', 'clipped');
    const { reason: memoryReason, ...memory } = grant(30, 'guarantee', 'loan');
    t.deepEqual(explanations.newest, {
      activation: 'id3',
      version: '0.0.1',
      container: 'c'.repeat(64),
      startedAt: 3,
      durationMillis: 5,
      initMillis: 7,
      cold: flags,
      control: flags,
      enforced: !flags,
      ended: 'answer',
      status: 502,
      clean: !flags,
      limitsChanged: flags,
      cpuMode: 'quota',
      shares: 129,
      userShares: 128,
      cpu: { ...cpu, rangeReason: cpuReason },
      memory: { ...memory, rangeReason: memoryReason },
      loan: 11,
      trippedCpu: flags,
      trippedMemory: !flags,
      targetCpu: 13,
      targetMemory: Number.NaN,
      harvested: 15,
      accelerated: 16,
      saved: 17,
    } as never);
  }
});

test('the last ten are kept, the youngest first, however many there were', (t) => {
  const explanations = new Explanations();
  t.is(explanations.newest, null);
  t.deepEqual(explanations.latest(), []);
  for (let n = 1; n <= 50; n++) {
    explanations.record(ended(n));
    t.is(explanations.newest?.activation, `id${n}`);
    const demand = Array.from({ length: Math.min(n, 10) }, (_, i) => `id${n - i}`);
    t.deepEqual(
      explanations.latest().map(({ activation }) => activation),
      demand,
    );
  }
});
