import test from 'ava';
import { sizingStudy } from '../../../experiments/right-sizing/study.js';

test('held out, smaller actions start cold less often; an OOM kill undoes a size', (t) => {
  const rows = sizingStudy({
    seeds: [1],
    hosts: 3,
    cores: 8,
    memoryMiB: 131_072,
    userMemoryMiB: [4096],
    functions: 100,
    load: 0.25,
  });
  const [none, , , few] = rows;
  t.like(none, { paired: null, changes: { mean: 0 }, costs: { mean: 0 } });
  for (const row of rows) t.is(row.activations, none!.activations);
  // Those that ask for less evidence change more.
  const changes = rows.slice(1, 4).map((row) => row.changes.mean);
  t.deepEqual(
    changes,
    [...changes].sort((a, b) => a - b),
  );
  t.true(few!.changes.mean > 20);
  t.true(few!.figures.cold.mean < none!.figures.cold.mean);
  for (const row of rows) t.true(row.undone.mean <= row.ooms);
});
