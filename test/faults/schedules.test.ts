import test from 'ava';
import { playSchedule } from './world/schedule.js';

const SCHEDULES = 20;

test(`${SCHEDULES} schedules of faults over two of each part break no promise`, async (t) => {
  t.timeout(240_000);
  let activations = 0;
  let lowered = 0;
  let targets = 0;
  for (let seed = 1; seed <= SCHEDULES; seed++) {
    const result = await playSchedule(seed);
    t.deepEqual(result.problems, [], `seed ${seed}: ${result.faults.join('; ')}`);
    activations += result.activations;
    lowered += result.lowered;
    targets += result.targets;
  }
  t.log(`${activations} activations, ${lowered} with lowered limits, ${targets} targets`);
  // Or nothing was tried: about 500 activations and 140 targets a schedule, and limits below the
  // user's in many of them.
  t.true(activations > 300 * SCHEDULES && targets > 50 * SCHEDULES && lowered > activations / 10);
});
