import test from 'ava';
import {
  constantLimit,
  hillClimbing,
  Q_DEFAULT,
  qLearning,
  TUNER_DEFAULT,
} from '../../../agents/tuning/index.js';
import { SURFACES, type Surface, scalability } from '../../../experiments/concurrency/surface.js';
import { bestThroughput, gridLimits, runTrial } from '../../../experiments/concurrency/trial.js';

const { grid } = TUNER_DEFAULT;
const surfaceOf = (name: string) => SURFACES.find((surface) => surface.name === name)!;
const noise = { throughput: 0.03, share: 0.02 };

/** The limits with the best throughput: several on a plateau. */
function bestLimits(surface: Surface): number[] {
  const best = bestThroughput(surface, grid);
  return gridLimits(grid).filter((limit) => surface.throughput(limit) >= best * (1 - 1e-9));
}

test('surfaces have their tops where their names say', (t) => {
  t.deepEqual(bestLimits(surfaceOf('optimum-70')), [70]);
  t.deepEqual(bestLimits(surfaceOf('optimum-10')), [10]);
  t.deepEqual(bestLimits(surfaceOf('plateau')), [130, 150, 170, 190, 210]);
  t.deepEqual(bestLimits(surfaceOf('plateau-100')), [70, 90, 110, 130, 150]);
  t.deepEqual(bestLimits(surfaceOf('blunt-70')), [70]);
  // n / (1 + s (n - 1) + k n (n - 1)), n 3, s .1, k .05: 3 / (1 + .2 + .3) = 2.
  t.is(scalability(3, 0.1, 0.05), 2);
});

test('all surfaces fall above 210, as every published one did', (t) => {
  for (const { throughput } of SURFACES)
    for (const limit of gridLimits(grid).filter((l) => l > 210))
      t.true(throughput(limit) < throughput(limit - 20));
});

test('one seed, one trial; the constant limit 100 stays at 100', (t) => {
  const plan = {
    surface: surfaceOf('optimum-70'),
    search: qLearning(Q_DEFAULT),
    grid,
    start: 100,
    iterations: 40,
    noise,
  };
  t.deepEqual(runTrial({ ...plan, seed: 1 }), runTrial({ ...plan, seed: 1 }));
  t.notDeepEqual(runTrial({ ...plan, seed: 1 }).limits, runTrial({ ...plan, seed: 2 }).limits);
  const hundred = { least: 100, most: 100, step: 20 };
  t.deepEqual(
    runTrial({ ...plan, search: constantLimit, grid: hundred, seed: 1 }).limits,
    Array(40).fill(100),
  );
});

test('without noise hill climbing reaches 70 from 90 and circles it', (t) => {
  const trial = runTrial({
    surface: surfaceOf('optimum-70'),
    search: hillClimbing,
    grid,
    start: 90,
    iterations: 8,
    noise: { throughput: 0, share: 0 },
    seed: 1,
  });
  // Relative throughput of 110, 90, 70, 50: .905, .969, 1, .946 (n / (1 + n (n - 1) / 4900) over
  // 35.25); down until it falls, then up until it falls.
  t.deepEqual(trial.limits, [90, 110, 90, 70, 50, 70, 90, 70]);
});
