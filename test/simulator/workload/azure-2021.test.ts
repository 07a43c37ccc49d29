import test from 'ava';
import { importAzure2021 } from '../../../simulator/workload/azure-2021.js';
import { TraceError, type Workload } from '../../../simulator/workload/index.js';

const HEADER = 'app,func,end_timestamp,duration\n';

function read(rows: string, options: Partial<Parameters<typeof importAzure2021>[1]> = {}) {
  return importAzure2021(
    { name: '2021.txt', content: HEADER + rows },
    { name: 'test', ...options },
  );
}

function times(workload: Workload): number[][] {
  return workload.functions.map(({ arrivals }) => ('atMs' in arrivals ? arrivals.atMs : []));
}

function durations(workload: Workload, index = 0): number[] {
  const { cpuMs, ioMs } = workload.functions[index]!.profile;
  const fn = workload.functions[index]!;
  const cores = Math.min(fn.profile.parallelism, fn.userCpuMillicores! / 1000);
  const value = (points: typeof cpuMs, i: number) =>
    typeof points === 'object' && 'quantiles' in points ? points.quantiles[i]![1] : 0;
  // CPU work = busy x D x cores and waiting = (1 - busy) x D, so D = CPU work / cores + waiting.
  return Array.from({ length: 9 }, (_, i) => value(cpuMs, i) / cores + value(ioMs, i));
}

test('ends become starts, shifted to 0 and in order of the starts', (t) => {
  // Starts: 5 - 42 = -37, 6 - 1 = 5, 7 - 5 = 2.
  const { workload, summary } = read('a,f,5.0,42.0\na,f,6.0,1.0\na,f,7.0,5.0\n');
  t.deepEqual(times(workload), [[0, 39_000, 42_000]]);
  t.is(summary.met.negativeStarts, 1);
  t.is(summary.first.negativeStarts, '2021.txt: line 2');
  t.is(summary.activations, 3);
  t.is(summary.recordedSeconds, 48);
});

test('without a start before 0 nothing is shifted', (t) => {
  t.deepEqual(times(read('a,f,50,8\n').workload), [[42_000]]);
});

test('ids are unique only within an application', (t) => {
  const { workload, summary } = read('a,f,1,0.5\nb,f,2,0.5\na,f,3,0.5\n');
  t.deepEqual(
    workload.functions.map(({ name }) => name),
    ['/guest/f', '/guest/f_2'],
  );
  t.deepEqual(times(workload), [[500, 2500], [1500]]);
  t.is(summary.kept, 2);
});

test('a duration of 0 is counted and drawn as 1 ms', (t) => {
  const { workload, summary } = read('a,f,1,0.0\na,f,2,0.0\na,f,3,0.01\n');
  t.is(summary.met.floored, 2);
  const found = durations(workload);
  t.true(Math.abs(found[0]! - 1) < 0.01, `${found}`);
  t.true(Math.abs(found[8]! - 10) < 0.01, `${found}`);
  t.is(summary.recordedSeconds, 0.012);
});

test('an activation above the time limit is cut at it and counted', (t) => {
  const { workload, summary } = read('a,f,900,800\na,f,1000,1\n');
  t.is(summary.met.clamped, 1);
  t.true(Math.abs(durations(workload)[8]! - 300_000) < 1);
  t.is(workload.functions[0]!.timeoutMs, 300_000);
});

test('the first functions of the trace are kept, the others counted', (t) => {
  const { workload, summary } = read('a,f,61,1\na,f,119,2\na,g,70,1\na,h,80,1\n', { functions: 2 });
  t.deepEqual(times(workload), [[60_000, 117_000], [69_000]]);
  t.like(summary, { kept: 2, beyond: 1, activations: 3 });
});

test('memory is assumed, one draw per application, and repeats with the seed', (t) => {
  const rows = 'a,f,1,1\na,g,1,1\nb,f,1,1\n';
  const { workload } = read(rows);
  const peaks = workload.functions.map((fn) => fn.profile.memory.peakMiB);
  t.deepEqual(peaks[0], peaks[1]);
  t.notDeepEqual(peaks[0], peaks[2]);
  t.deepEqual(read(rows).workload, workload);
  t.notDeepEqual(read(rows, { seed: 2 }).workload.functions, workload.functions);
});

test('bad rows are refused with their line', (t) => {
  const message = (rows: string) => t.throws(() => read(rows), { instanceOf: TraceError })!.message;
  t.is(message('a,f,1,1\na,f,1\n'), '2021.txt: line 3: 3 columns, but the header has 4');
  t.is(message('a,f/g,1,1\n'), "2021.txt: line 2: 'f/g' cannot name a function");
});

test('rows with a negative duration or no number are skipped, or errors if strict', (t) => {
  const { summary } = read('a,f,1,1\na,f,1,-2\na,f,,1\na,f,NaN,1\n');
  t.like(summary, { kept: 1, activations: 1, met: { negative: 1, unreadable: 2 } });
  t.deepEqual(summary.first, { negative: '2021.txt: line 3', unreadable: '2021.txt: line 4' });
  const strict = (row: string) =>
    t.throws(() => read(`${row}\n`, { strict: true }), { instanceOf: TraceError })!.message;
  t.is(strict('a,f,1,-2'), "2021.txt: line 2: column 'duration' is '-2', not a number >= 0");
  t.is(strict('a,f,,1'), "2021.txt: line 2: column 'end_timestamp' is '', not a number >= 0");
  t.is(strict('a,f,NaN,1'), "2021.txt: line 2: column 'end_timestamp' is 'NaN', not a number >= 0");
});

test('a time beyond a year is refused with its line', (t) => {
  for (const [row, column] of [
    ['a,f,1e300,1', 'end_timestamp'],
    ['a,f,10,1e300', 'duration'],
    // Seconds since 1970.
    ['a,f,1700000000,1', 'end_timestamp'],
  ] as const) {
    const error = t.throws(() => read(`a,f,1,1\n${row}\n`), { instanceOf: TraceError });
    t.is(error.line, 3);
    t.regex(error.message, new RegExp(`column '${column}' is .* s, more than a year`));
  }
});
