import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { dataIssues } from '../../../simulator/workload/anomalies.js';
import { importAzure2019 } from '../../../simulator/workload/azure-2019.js';
import { openWorkload, TraceError } from '../../../simulator/workload/index.js';
import { loadWorkloadPath, type WorkloadOptions } from '../../../simulator/workload/open.js';
import { DURATION, DURATION_ROW, folderOf, fullDay, MEMORY, MEMORY_ROW } from './trace-tables.js';

const SAMPLE = {
  'my_invocation_traces_0.csv': 'HashFunction,Trigger,1,2\nf,http,1,2\ng,timer,0,3\n',
  'my_memory_traces_0.csv': `HashFunction,${MEMORY}\nf,${MEMORY_ROW}\ng,${MEMORY_ROW}\n`,
  'my_duration_traces_0.csv': `HashFunction,${DURATION}\nf,${DURATION_ROW}\ng,${DURATION_ROW}\n`,
};

const two = (day: number, minute: number) =>
  fullDay(day, [
    { app: 'a', fn: 'f', activations: { [minute]: 2 } },
    { app: 'b', fn: 'f', activations: { 1440: 1 } },
  ]);

function refused(path: string, options: WorkloadOptions = {}): { message: string; hint: string } {
  try {
    loadWorkloadPath(path, options);
  } catch (error) {
    if (error instanceof TraceError) return error;
    throw error;
  }
  return { message: 'no error', hint: '' };
}

test('a folder with a sample, or one of its files', (t) => {
  const folder = folderOf(t, SAMPLE);
  const { workload, summary, phases } = loadWorkloadPath(folder);
  t.is(workload.name, 'my');
  t.deepEqual(phases, [workload]);
  t.like(summary, { format: 'azure-2019-sample', kept: 2, activations: 6 });
  t.deepEqual(loadWorkloadPath(join(folder, 'my_memory_traces_0.csv')).workload, workload);
  t.deepEqual(
    loadWorkloadPath(folder, { functions: 1 }).workload.functions.map(({ name }) => name),
    ['/guest/f'],
  );
});

test('two sets in one folder: exp_sim, else one has to be named', (t) => {
  const renamed = (set: string) =>
    Object.fromEntries(
      Object.entries(SAMPLE).map(([name, text]) => [name.replace('my', set), text]),
    );
  t.is(
    loadWorkloadPath(folderOf(t, { ...renamed('exp_openwhisk'), ...renamed('exp_sim') })).workload
      .name,
    'exp_sim',
  );
  t.regex(
    refused(folderOf(t, { ...SAMPLE, ...renamed('other') })).message,
    /has several sets: my, other$/,
  );
});

test('the full trace of 2019: the first day of a folder, or the day of a named file', (t) => {
  const folder = folderOf(t, { ...two(2, 1), ...two(3, 5) });
  const first = loadWorkloadPath(folder);
  t.is(first.workload.name, 'azure-2019-d02');
  t.like(first.summary, { format: 'azure-2019', kept: 2, activations: 3 });
  t.is(first.summary!.met.repeated, 0);
  const oneTable = join(folder, 'app_memory_percentiles.anon.d03.csv');
  t.is(loadWorkloadPath(oneTable).workload.name, 'azure-2019-d03');
  const { 'app_memory_percentiles.anon.d04.csv': memory } = two(4, 1);
  const alone = folderOf(t, { 'app_memory_percentiles.anon.d04.csv': memory! });
  t.regex(refused(alone).message, /day 4 has no invocations_per_function_md$/);
});

test('a day after the twelfth has no memory, and that is said', (t) => {
  const { 'app_memory_percentiles.anon.d13.csv': _, ...day13 } = two(13, 1);
  const found = refused(
    join(folderOf(t, { ...two(12, 1), ...day13 }), 'invocations_per_function_md.anon.d13.csv'),
  );
  t.regex(found.message, /day 13 has no memory: Azure recorded it until day 12$/);
  t.is(found.hint, 'take a day from 1 to 12');
});

test('the duplicates of a day are merged and its gaps counted, with their first line', (t) => {
  const day = two(1, 7);
  const invocations = day['invocations_per_function_md.anon.d01.csv']!;
  const rows = invocations.split('\n');
  const hole = rows[1]!.replace('owner,a,f', 'owner,c,nomem');
  day['invocations_per_function_md.anon.d01.csv'] = `${invocations}${rows[1]}\n${hole}\n`;
  const { workload, summary } = loadWorkloadPath(folderOf(t, day));
  t.like(summary, { kept: 2, met: { duplicates: 1, withoutMemory: 1, withoutDuration: 1 } });
  t.is(summary!.first.duplicates, 'invocations_per_function_md.anon.d01.csv: line 4');
  const { arrivals } = workload.functions[0]!;
  t.is('perMinute' in arrivals ? arrivals.perMinute[6] : 0, 4);
  const lines = dataIssues(summary!).map(
    ({ count, rule, first }) => `${count} ${rule} (first: ${first})`,
  );
  t.deepEqual(lines, [
    '1 rows of a function that was there already: counts added (first: ' +
      'invocations_per_function_md.anon.d01.csv: line 4)',
    '1 functions whose application has no memory: dropped (first: ' +
      'invocations_per_function_md.anon.d01.csv: line 5)',
    '1 functions without durations: dropped (first: invocations_per_function_md.anon.d01.csv: ' +
      'line 5)',
  ]);
});

test('more than 20 million counts are refused before they fill the memory', (t) => {
  const minutes = Array.from({ length: 4000 }, (_, i) => i + 1).join(',');
  const zeros = ',0'.repeat(3999);
  const functions = Array.from({ length: 5001 }, (_, i) => `f${i}`);
  const rowsOf = (row: string): string => functions.map((fn) => `${fn},${row}\n`).join('');
  const folder = folderOf(t, {
    'my_invocation_traces_0.csv': `HashFunction,Trigger,${minutes}\n${rowsOf(`http,1${zeros}`)}`,
    'my_memory_traces_0.csv': `HashFunction,${MEMORY}\n${rowsOf(MEMORY_ROW)}`,
    'my_duration_traces_0.csv': `HashFunction,${DURATION}\n${rowsOf(DURATION_ROW)}`,
  });
  // 5000 functions of 4000 minutes are just 20 million; line 1 is the header.
  t.is(
    refused(folder).message,
    'my_invocation_traces_0.csv: line 5002: more than 20 million counts (functions x minutes)',
  );
});

test('long hashes are cut for names, and stay apart', (t) => {
  const hash = 'c455703077a17a9b8d0fc655d939fcc6d24d819fa9a1066b74f710c35a43cbc8';
  const other = hash.replace(/8$/, '9');
  const day = fullDay(1, [
    { app: 'a', fn: hash, activations: { 1: 1 } },
    { app: 'a', fn: other, activations: { 1: 2 } },
  ]);
  t.deepEqual(
    loadWorkloadPath(folderOf(t, day)).workload.functions.map(({ name }) => name),
    ['/guest/c455703077a1', '/guest/c455703077a1_2'],
  );
});

test('the trace of 2021 is recognized by its header, in a folder too', (t) => {
  const folder = folderOf(t, {
    'readme.txt': 'see the other file\n',
    'trace.txt': 'app,func,end_timestamp,duration\na,f,1,1\n',
  });
  t.is(loadWorkloadPath(folder).summary!.format, 'azure-2021');
  t.is(loadWorkloadPath(join(folder, 'trace.txt')).workload.name, 'trace');
});

test('packed files are refused by name or first bytes, with a hint', (t) => {
  const folder = folderOf(t, {
    'AzureFunctionsInvocationTraceForTwoWeeksJan2021.rar': 'Rar!\x1a\x07\x00',
    'unnamed.csv': gzipSync('app,func,end_timestamp,duration\n'),
  });
  const rar = refused(join(folder, 'AzureFunctionsInvocationTraceForTwoWeeksJan2021.rar'));
  t.is(rar.message, 'AzureFunctionsInvocationTraceForTwoWeeksJan2021.rar: is packed (RAR)');
  t.is(rar.hint, 'unpack it first (the trace of 2021 comes as RAR: unrar x)');
  t.is(refused(join(folder, 'unnamed.csv')).message, 'unnamed.csv: is packed (gzip)');
  t.regex(refused(folder).message, /is packed \(RAR\)/);
  const { 'my_memory_traces_0.csv': memory, ...rest } = SAMPLE;
  t.is(
    refused(folderOf(t, { ...rest, 'my_memory_traces_0.csv.gz': gzipSync(memory) })).message,
    'my_memory_traces_0.csv.gz: is packed (gzip)',
  );
});

test('what is no trace is refused: no table, an unknown one, an incomplete set', (t) => {
  t.regex(refused(folderOf(t, { 'a.md': 'x' })).message, /holds no table of a known trace$/);
  const folder = folderOf(t, {
    'x.csv': 'a,b\n1,2\n',
    'empty.csv': '',
    'table.csv': 'HashApp,1\n',
    ...SAMPLE,
  });
  t.is(
    refused(join(folder, 'x.csv')).message,
    "x.csv: line 1: is no table of a known trace: 'a,b'",
  );
  t.is(
    refused(join(folder, 'empty.csv')).message,
    'empty.csv: line 1: is empty: there is no header',
  );
  t.regex(
    refused(join(folder, 'table.csv')).message,
    /^table\.csv: line 1: is one of three tables/,
  );
  const { 'my_memory_traces_0.csv': _, ...rest } = SAMPLE;
  t.regex(refused(folderOf(t, rest)).message, /the set 'my' has no memory table$/);
});

test('a line of a million columns is refused after its first part', (t) => {
  const folder = folderOf(t, SAMPLE);
  const path = join(folder, 'my_invocation_traces_0.csv');
  const file = openSync(path, 'w');
  writeSync(file, 'HashFunction,Trigger,1,2\n');
  // 256 MiB of commas would not fit into a string and should not be read: the rest of the file is a
  // hole.
  writeSync(file, ','.repeat(1_000_000));
  writeSync(file, '\n', 256 * 1024 * 1024);
  closeSync(file);
  const before = process.memoryUsage().arrayBuffers;
  t.is(refused(folder).message, 'my_invocation_traces_0.csv: line 2: more than 4096 columns');
  t.true(process.memoryUsage().arrayBuffers - before < 8 * 1024 * 1024);
  const long = {
    ...SAMPLE,
    'my_invocation_traces_0.csv': `HashFunction,Trigger,1,2\n${'x'.repeat(400_000)}\n`,
  };
  t.is(
    refused(folderOf(t, long)).message,
    'my_invocation_traces_0.csv: line 2: longer than 256 KiB',
  );
});

test('files are read in parts: lines and their ends may fall anywhere', (t) => {
  // Rows of 53 characters over 70,000 rows: about 57 parts of 64 KiB.
  const rows = Array.from(
    { length: 70_000 },
    (_, i) => `${'f'.repeat(40)}${i},http,${i % 10},1\r\n`,
  );
  const folder = folderOf(t, {
    ...SAMPLE,
    'my_invocation_traces_0.csv': `HashFunction,Trigger,1,2\r\nf,http,1,2\r\n${rows.join('')}`,
  });
  const { summary } = loadWorkloadPath(folder);
  t.like(summary, { kept: 1, activations: 3, met: { withoutMemory: 70_000, crlf: 70_002 } });
});

test('strict: every anomaly is an error with its line', (t) => {
  const strict = (parts: Partial<Record<'invocations' | 'memory' | 'durations', string>>) => {
    const source = (name: string, content: string) => ({ name, content });
    const files = {
      invocations: source('inv.csv', parts.invocations ?? SAMPLE['my_invocation_traces_0.csv']),
      memory: source('mem.csv', parts.memory ?? SAMPLE['my_memory_traces_0.csv']),
      durations: source('dur.csv', parts.durations ?? SAMPLE['my_duration_traces_0.csv']),
    };
    return t.throws(() => importAzure2019(files, { name: 'test', strict: true }), {
      instanceOf: TraceError,
    })!.message;
  };
  const header = 'HashFunction,Trigger,1,2\n';
  const durations = (row: string) => `HashFunction,${DURATION}\nf,${DURATION_ROW}\ng,${row}\n`;
  t.is(
    strict({ invocations: `\ufeff${header}f,http,1,2\n` }),
    'inv.csv: line 1: begins with a byte order mark',
  );
  t.is(strict({ invocations: `${header}f,http,1,2\r\n` }), 'inv.csv: line 2: ends in CR LF');
  t.is(strict({ invocations: `${header}\nf,http,1,2\n` }), 'inv.csv: line 2: is empty');
  t.is(
    strict({ invocations: `${header}f,http,1,2\nf,http,1,2\n` }),
    "inv.csv: line 3: function 'f' is there already",
  );
  t.is(
    strict({ memory: `${SAMPLE['my_memory_traces_0.csv']}f,${MEMORY_ROW}\n` }),
    "mem.csv: line 4: 'f' is there already",
  );
  t.is(
    strict({ memory: `HashFunction,${MEMORY}\nf,${MEMORY_ROW}\n` }),
    "inv.csv: line 3: no memory of 'g'",
  );
  t.is(
    strict({ durations: `HashFunction,${DURATION}\nf,${DURATION_ROW}\n` }),
    "inv.csv: line 3: no durations of 'g'",
  );
  t.is(
    strict({ durations: durations('0,307,0,47,0,0,0,0,0,19,47') }),
    'dur.csv: line 3: durations below 1 ms',
  );
  t.is(
    strict({ durations: durations('9,9,1,400000,1,1,1,1,1,1,1') }),
    'dur.csv: line 3: durations above 300000 ms',
  );
  t.is(
    strict({ durations: durations('9,9,1,9,1,1,3,2,5,6,9') }),
    'dur.csv: line 3: percentiles fall, or lie above the maximum',
  );
  t.is(
    strict({ durations: durations('9,9,,9,1,1,3,4,5,6,9') }),
    'dur.csv: line 3: Minimum or Maximum is empty',
  );
  const folder = folderOf(t, { 'trace.txt': 'app,func,end_timestamp,duration\na,f,1,2\n' });
  t.is(
    refused(folder, { strict: true }).message,
    'trace.txt: line 2: began 1 s before the recording',
  );
  const clean = loadWorkloadPath(folderOf(t, SAMPLE), { strict: true });
  t.true(Object.values(clean.summary!.met).every((count) => count === 0));
});

test('a workload is opened by name, by path, or refused with what was meant', (t) => {
  t.is(openWorkload('azure-ten').workload.functions.length, 10);
  t.is(openWorkload('azure-ten', { functions: 3 }).workload.functions.length, 3);
  const sample = openWorkload('azure-sample:50', { load: { load: 0.7, cores: 8 } });
  t.is(sample.summary!.kept, 50);
  t.true(Math.abs(sample.scaling!.after - 0.7) < 1e-6);
  const path = join(
    folderOf(t, { 'w.json': JSON.stringify(openWorkload('azure-ten').workload) }),
    'w.json',
  );
  t.deepEqual(openWorkload(path).workload, openWorkload('azure-ten').workload);
  t.throws(() => openWorkload('azure-tenn'), { message: /did you mean azure-ten\?/ });
  t.throws(() => openWorkload('azure-sample:many'), { message: /'many' is no number/ });
});
