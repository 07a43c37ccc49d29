import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readPublishedSample } from '../../../simulator/freyr-2021/index.js';
import { TraceError } from '../../../simulator/workload/index.js';

const SAMPLE = 'test/data/azure-2019-sample';

function copy(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-published-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  cpSync(SAMPLE, folder, { recursive: true });
  return folder;
}

test('the first rows of the sample', (t) => {
  const { functions, activations, seconds } = readPublishedSample(SAMPLE, 6);
  // Row 0: 189 MB, ideal 192, p1 43 ms, p100 4084 ms, Minimum 23 ms, timer.
  t.deepEqual(functions[0], {
    index: 0,
    user: { cpu: 2, memory: 2 },
    idealCpu: 3,
    idealMb: 192,
    idealMemory: 4,
    minDuration: 1,
    maxDuration: 5,
    coldStart: 1,
    timeout: 600,
  });
  t.is(functions[1]!.timeout, 230, 'http');
  // Row 5: p1 16989 ms, p100 374533 ms, Minimum 4528 ms.
  t.deepEqual(
    [functions[5]!.minDuration, functions[5]!.maxDuration, functions[5]!.coldStart],
    [17, 375, 5],
  );
  // The first minute: one activation of row 0, ten of row 1, two of row 2, one of row 3.
  t.deepEqual([...activations.subarray(0, 14)], [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3]);
  t.is(seconds[13], 0);
  t.is(seconds.at(-1), 59);
  t.is(readPublishedSample(SAMPLE, 1000).activations.length, 85_470);
});

test('the file of invocations names a sample too', (t) => {
  const file = join(SAMPLE, 'exp_sim_invocation_traces_0.csv');
  t.is(readPublishedSample(file, 10).activations.length, 421);
});

test('what cannot be read is said with file and line', (t) => {
  t.throws(() => readPublishedSample('no/such/folder', 10), {
    instanceOf: TraceError,
    message: /no\/such\/folder/,
  });
  t.throws(() => readPublishedSample('simulator', 10), {
    instanceOf: TraceError,
    message: /no sample/,
  });
  t.throws(() => readPublishedSample('README.md', 10), {
    instanceOf: TraceError,
    message: /no sample/,
  });
  t.throws(() => readPublishedSample(SAMPLE, 1001), {
    instanceOf: TraceError,
    message: /1000 functions, not 1001/,
  });
  const folder = copy(t);
  const memory = join(folder, 'exp_sim_memory_traces_0.csv');
  const lines = readFileSync(memory, 'utf8').trimEnd().split('\n');
  writeFileSync(
    memory,
    [...lines.slice(0, 3), lines[3]!.replace(/,[^,]*$/, ',much'), ...lines.slice(4)].join('\n'),
  );
  t.throws(() => readPublishedSample(folder, 10), {
    instanceOf: TraceError,
    message: /line 4: .*'Ideal' is 'much'/,
  });
  writeFileSync(memory, lines.slice(0, -1).join('\n'));
  t.throws(() => readPublishedSample(folder, 10), {
    instanceOf: TraceError,
    message: /999 functions, but 1000/,
  });
  writeFileSync(memory, lines.join('\n'));
  rmSync(join(folder, 'exp_sim_duration_traces_0.csv'));
  t.throws(() => readPublishedSample(folder, 10), {
    instanceOf: TraceError,
    message: /duration_traces_0\.csv/,
  });
});

test('of several samples one must be named', (t) => {
  const folder = copy(t);
  for (const kind of ['invocation', 'memory', 'duration'])
    cpSync(
      join(folder, `exp_sim_${kind}_traces_0.csv`),
      join(folder, `other_${kind}_traces_1.csv`),
    );
  const error = t.throws(() => readPublishedSample(folder, 10), {
    instanceOf: TraceError,
    message: /2 samples/,
  });
  t.regex(error.hint, /other_invocation_traces_1\.csv/);
});
