import test from 'ava';
import { replayedColdStarts } from '../../../experiments/memory-pressure/furthest-next-use.js';
import { memoryPressureReproduction } from '../../../experiments/memory-pressure/reproduce.js';
import { BASELINE, PRICE, type PressureStudy } from '../../../experiments/memory-pressure/study.js';
import type { SimulatedActivation } from '../../../simulator/engine/index.js';

/** One host, each activation 0.1 s long, at these seconds. */
const activationsOf = (...activations: readonly (readonly [fn: number, second: number])[]) =>
  activations.map(
    ([fn, second], activation) =>
      ({
        activation,
        fn,
        host: 0,
        arrivedAt: second * 1e6,
        placedAt: second * 1e6,
        endedAt: second * 1e6 + 1e5,
      }) as SimulatedActivation,
  );

test('of containers of one size the one that is needed last is evicted', (t) => {
  // Two of three functions fit. At 2 the oldest is 0, which comes at 3 and 5; 1 comes at 4. By age
  // every start is cold (0 1 2 0 1 2); by use 1 goes for 2, and 2 for 1: 0 stays.
  const activations = activationsOf([0, 0], [1, 1], [2, 2], [0, 3], [1, 4], [2, 5]);
  const request = { activations, memory: [128, 128, 128], userMemoryMiB: 256, from: 0 };
  t.is(replayedColdStarts({ ...request, evict: 'oldest' }), 6);
  t.is(replayedColdStarts({ ...request, evict: 'furthest' }), 4);
  t.is(replayedColdStarts({ ...request, evict: 'furthest', from: 3.5e6 }), 1);
});

test('furthest next use is no bound for containers of different sizes', (t) => {
  // 512 + 256 + 256 MiB fill the host; 3, of 512, takes the place of 2 and 1, which then start cold
  // again: 6. Evicting 0 instead would start only 0 cold again: 5.
  const activations = activationsOf([0, 0], [1, 1], [2, 2], [3, 3], [0, 20], [1, 21], [2, 22]);
  const request = { activations, memory: [512, 256, 256, 512], userMemoryMiB: 1024, from: 0 };
  t.is(replayedColdStarts({ ...request, evict: 'furthest' }), 6);
});

test('a container that is busy or was idle for too long serves no activation', (t) => {
  const activations = activationsOf([0, 0], [0, 0.05], [0, 700]);
  const request = { activations, memory: [128], userMemoryMiB: 1024, from: 0 };
  t.is(replayedColdStarts({ ...request, evict: 'furthest' }), 3);
});

test('reproduce memory-pressure --quick: fewer cold starts than after 200 activations', (t) => {
  let runs = 0;
  const { markdown, figures } = memoryPressureReproduction.run({
    seeds: [1],
    quick: true,
    command: 'gleaner reproduce memory-pressure --quick',
    onRun: () => runs++,
  });
  const { rows, replays } = figures as PressureStudy;
  t.is(runs, rows.length);
  const coldOf = (name: string): number => rows.find((row) => row.name === name)!.figures.cold.mean;
  t.true(coldOf(PRICE) < coldOf(BASELINE));
  // Who sees the future evicts better than OpenWhisk on the same hosts.
  t.true(replays[0]!.cold.mean < coldOf('as users set it'));
  t.false(markdown.includes('- Met.'), 'one seed meets no goal');
  for (const { name } of [...rows, ...replays]) t.true(markdown.includes(`| ${name} |`), name);
});
