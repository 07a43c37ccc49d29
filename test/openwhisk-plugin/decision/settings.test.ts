import { fc } from '@fast-check/ava';
import test from 'ava';
import { ConfigError, defaultConfig, loadConfig, MIB } from '../../../config/index.js';
import {
  closeWindow,
  decisionSettings,
  defaultDecisionSettings,
  FunctionState,
  Grant,
  Run,
} from '../../../openwhisk-plugin/decision/index.js';
import { cpuRange, memoryRange } from '../../../openwhisk-plugin/decision/safeguard.js';
import { openWindow } from '../../../openwhisk-plugin/decision/usage-window.js';
import { scaleShares, shortFirstFactor } from '../../../openwhisk-plugin/decision/weights.js';
import { decider, host, limits } from './helpers.js';

const HOST = host(8, 8192);

/**
 * A value of the whole range that the schema gives a number, its ends among them; `low` exclusive
 * where it is 0.
 */
const within = (low: number, high: number) =>
  fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(low === 0 ? Number.MIN_VALUE : low, high) },
    {
      weight: 3,
      arbitrary: fc.double({ min: low === 0 ? Number.MIN_VALUE : low, max: high, noNaN: true }),
    },
  );

/**
 * Every key that the safeguard or the weights divide by, multiply with or compare with, over all
 * that its own range allows.
 */
const keys = fc.record({
  'decision.thetaUser': within(0.1, 1),
  'decision.thetaSpike': within(0.1, 1),
  'decision.cpuFloorMillicores': fc.integer({ min: 10, max: 1000 }),
  'decision.memoryFloorMiB': fc.oneof(fc.constant(64), fc.integer({ min: 6, max: 1_048_576 })),
  'decision.cpuCapMillicores': fc.option(within(0, 1_000_000)),
  'decision.memoryCapMiB': fc.option(within(0, 16_777_216), { freq: 1 }),
  'decision.peakHalfLifeS': within(0, 31_536_000),
  'decision.weight.alpha': fc.double({ min: 0, max: 2, noNaN: true }),
  'decision.weight.referenceMs': fc.option(within(0, 3_600_000)),
});

/** Null where the configuration is refused. */
function accepted(flags: Readonly<Record<string, unknown>>) {
  try {
    const { config } = loadConfig({ flags });
    return decisionSettings(config.decision, config.hook.sampleMs, HOST);
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}

test('every accepted configuration gives finite, positive ranges and weights', (t) => {
  let tried = 0;
  fc.assert(
    fc.property(
      keys,
      fc.integer({ min: 1, max: 64_000 }),
      // Doubles are mostly tiny.
      fc.oneof(
        fc.integer({ min: 0, max: 64_000 }),
        fc.double({ min: 0, max: 64_000, noNaN: true }),
      ),
      fc.double({ min: 0, max: 1e7, noNaN: true }),
      (flags, user, peak, age) => {
        const settings = accepted(flags);
        if (settings === null) return;
        tried++;
        const fn = new FunctionState('/g/f', '1', limits(256, user / 1000), 'faasrm', 1);
        fn.clean = 1;
        fn.cpuPeak.add(peak, 0, settings.halfLife);
        fn.memoryPeak.add(peak * MIB, 0, settings.halfLife);
        fn.workingPeak.add(peak * MIB, 0, settings.halfLife);
        fn.growth.add(peak, 0, settings.halfLife);
        for (const range of [cpuRange, memoryRange]) {
          const grant = new Grant();
          grant.reset(range === cpuRange ? user : 256 * MIB);
          range(grant, fn, settings, age);
          for (const bound of [grant.lower, grant.upper])
            if (!(bound > 0) || !Number.isFinite(bound))
              throw new Error(`${range.name}: ${grant.lower}..${grant.upper}`);
          if (grant.lower > grant.upper)
            throw new Error(`${range.name}: ${grant.lower} above ${grant.upper}`);
          // A steady function must not trip at its own lowered limit.
          const shown = range === cpuRange ? peak : peak * MIB;
          if (grant.lower < grant.user && shown > settings.thetaSpike * grant.lower * (1 + 1e-9))
            throw new Error(`${range.name}: ${shown} is a spike at ${grant.lower}`);
        }
        const { alpha, weightClampLow, weightClampHigh, referenceCpuTime } = settings;
        const reference = referenceCpuTime > 0 ? referenceCpuTime : 100;
        const weight = scaleShares(
          128,
          shortFirstFactor(peak, reference, alpha, weightClampLow, weightClampHigh),
        );
        if (!(weight > 0) || !Number.isFinite(weight)) throw new Error(`weight ${weight}`);
      },
    ),
    // Some have a floor above their cap, and are refused.
    { numRuns: 3000, seed: 1 },
  );
  t.true(tried > 300, `${tried}`);
});

test('a window without a length shows no use, even where windows of any length count', (t) => {
  const made = decider();
  const user = limits(256, 1);
  const run = new Run(made.functionState('/g/f', '1', user, 0 as never), made.container(user));
  openWindow(run, 0, 10);
  t.is(closeWindow(run, 500, 10, 0), -1, 'once Infinity: 500 us in 0 ms');
  t.is(Number(run.cpu.peak), -1, 'none');
  // 500 us in 1 ms: half a core.
  t.is(closeWindow(run, 500, 11, 0), 500);
});

test('the safeguard’s defaults are those of the configuration', (t) => {
  const { decision } = defaultConfig;
  t.is(defaultDecisionSettings.thetaSpike, decision.thetaSpike);
  t.is(Number(defaultDecisionSettings.halfLife), decision.peakHalfLifeS * 1000);
  t.is(Number(defaultDecisionSettings.memoryFloor), decision.memoryFloorMiB * MIB);
  // Without a host: eight of FaaSRM's units.
  t.is(Number(defaultDecisionSettings.cpuCap), 8000);
});

test('memory may grow during a sampling period and the 30 ms of a raise', (t) => {
  const reaction = (sampleMs: number): number => {
    const { config } = loadConfig({ flags: { 'hook.sampleMs': sampleMs } });
    return decisionSettings(config.decision, config.hook.sampleMs, HOST).reactionTime;
  };
  t.is(reaction(50), 130, 'never less than for the default period');
  t.is(reaction(100), 130);
  t.is(reaction(500), 530);
});
