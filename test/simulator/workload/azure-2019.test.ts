import { readFileSync } from 'node:fs';
import test from 'ava';
import { importAzure2019, type TraceFiles } from '../../../simulator/workload/azure-2019.js';
import { soloMs } from '../../../simulator/workload/demand-table.js';
import { azureTen, planWorkload, Table, TraceError } from '../../../simulator/workload/index.js';
import type { ImportOptions } from '../../../simulator/workload/recorded-function.js';

const FOLDER = new URL('../../../../test/data/azure-2019-sample/', import.meta.url);

function sample(prefix: string): TraceFiles {
  const file = (table: string) => {
    const name = `${prefix}_${table}_traces_0.csv`;
    return { name, content: readFileSync(new URL(name, FOLDER)) };
  };
  return { invocations: file('invocation'), memory: file('memory'), durations: file('duration') };
}

const OPTIONS: ImportOptions = { name: 'test' };
const MEMORY =
  'SampleCount,AverageAllocatedMb,AverageAllocatedMb_pct1,AverageAllocatedMb_pct5,' +
  'AverageAllocatedMb_pct25,AverageAllocatedMb_pct50,AverageAllocatedMb_pct75,' +
  'AverageAllocatedMb_pct95,AverageAllocatedMb_pct99,AverageAllocatedMb_pct100';
const DURATION =
  'Average,Count,Minimum,Maximum,percentile_Average_0,percentile_Average_1,' +
  'percentile_Average_25,percentile_Average_50,percentile_Average_75,percentile_Average_99,' +
  'percentile_Average_100';
const MEMORY_ROW = '9,100,90,95,100,100,100,110,115,120';
const DURATION_ROW = '50,9,10,90,10,12,40,50,60,80,90';

/** Three small tables; what a test does not give is one well-formed function `f`. */
function tables(parts: { invocations?: string; memory?: string; durations?: string }): TraceFiles {
  return {
    invocations: {
      name: 'inv.csv',
      content: parts.invocations ?? 'HashFunction,Trigger,1,2\nf,http,1,2\n',
    },
    memory: {
      name: 'mem.csv',
      content: parts.memory ?? `HashFunction,${MEMORY}\nf,${MEMORY_ROW}\n`,
    },
    durations: {
      name: 'dur.csv',
      content: parts.durations ?? `HashFunction,${DURATION}\nf,${DURATION_ROW}\n`,
    },
  };
}

function failure(parts: Parameters<typeof tables>[0]): string {
  try {
    importAzure2019(tables(parts), OPTIONS);
  } catch (error) {
    if (error instanceof TraceError) return error.message;
    throw error;
  }
  return 'no error';
}

test('the ten functions have 268 activations in all, as counted in the trace', (t) => {
  const { workload, summary } = importAzure2019(sample('exp_openwhisk'), OPTIONS);
  const plan = planWorkload(workload);
  t.is(plan.count, 268);
  const counts = new Map<string, number>();
  for (const fn of plan.fn) {
    const name = workload.functions[fn]!.name.slice('/guest/'.length);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  t.deepEqual(Object.fromEntries(counts), {
    dh: 30,
    eg: 30,
    ip: 29,
    vp: 20,
    ir: 22,
    knn: 20,
    alu: 30,
    ms: 34,
    gd: 20,
    dv: 33,
  });
  t.is(Math.round(summary.recordedSeconds), 2447);
  // only dh lies above 300 s. Below 1 ms: minima or percentiles of eg, ir and dv.
  t.is(summary.met.clamped, 1);
  t.is(summary.met.floored, 3);
  t.is(plan.spanMicros, 3_600_000_000);
});

test('the activations drawn add up to the work recorded, within 5 %', (t) => {
  const { workload } = importAzure2019(sample('exp_openwhisk'), OPTIONS);
  for (const seed of [1, 2, 3]) {
    const plan = planWorkload(workload, seed);
    let seconds = 0;
    for (let i = 0; i < plan.count; i++) {
      seconds +=
        soloMs(workload.functions[plan.fn[i]!]!, plan.cpu[i]! / 1000, plan.io[i]! / 1000) / 1000;
    }
    t.true(Math.abs(seconds / 2447 - 1) < 0.05, `${seconds}`);
  }
});

test('the 1000-function sample has 85,470 activations and the counted triggers', (t) => {
  const { workload, summary } = importAzure2019(sample('exp_sim'), OPTIONS);
  t.is(summary.kept, 1000);
  t.is(summary.activations, 85_470);
  t.deepEqual(summary.triggers, {
    timer: 414,
    http: 254,
    queue: 133,
    orchestration: 72,
    others: 64,
    event: 37,
    storage: 26,
  });
  const sums = workload.functions.map((fn) =>
    'perMinute' in fn.arrivals ? fn.arrivals.perMinute.reduce((a, b) => a + b, 0) : 0,
  );
  t.is(Math.min(...sums), 10);
  t.is(Math.max(...sums), 991);
});

test('a huge duration is cut at the time limit and counted: dh', (t) => {
  const files = tables({
    invocations: 'HashFunction,Trigger,1\ndh,orchestration,1\n',
    memory: `HashFunction,${MEMORY}\ndh,${MEMORY_ROW}\n`,
    durations:
      `HashFunction,${DURATION}\ndh,62927,522,3900.0,300152.0,3900,4462,15385,41538,` +
      `70266,300100,300152\n`,
  });
  const { workload, summary } = importAzure2019(files, OPTIONS);
  t.is(summary.met.clamped, 1);
  t.is(workload.functions[0]!.timeoutMs, 300_000);
  const { cpuMs, ioMs } = workload.functions[0]!.profile;
  const last = (value: typeof cpuMs) =>
    typeof value === 'object' && 'quantiles' in value ? value.quantiles.at(-1)![1] : Number.NaN;
  // dh: .9 of 300 s busy on .4 of a core, the rest waiting.
  t.is(last(cpuMs), 108_000);
  t.is(last(ioMs), 30_000);
});

test('an average of 0 with activations is kept, floored to 1 ms', (t) => {
  const { workload, summary } = importAzure2019(
    tables({ durations: `HashFunction,${DURATION}\nf,0,307,0,47,0,0,0,0,0,19,47\n` }),
    OPTIONS,
  );
  t.is(summary.met.floored, 1);
  t.is(summary.recordedSeconds, 0.003);
  const plan = planWorkload(workload);
  for (let i = 0; i < plan.count; i++) t.true(plan.cpu[i]! > 0);
});

test('two rows of one function are one function, their activations added', (t) => {
  const { workload, summary } = importAzure2019(
    tables({
      invocations: 'HashFunction,Trigger,1,2\nf,http,1,2\nf,http,0,5\n',
      memory: `HashFunction,${MEMORY}\nf,${MEMORY_ROW}\nf,${MEMORY_ROW}\n`,
    }),
    OPTIONS,
  );
  t.is(summary.met.duplicates, 1);
  t.is(summary.met.repeated, 1);
  t.is(workload.functions.length, 1);
  t.like(workload.functions[0]!.arrivals, { perMinute: [1, 7] });
});

test('one hash in two applications is two functions, each with its own memory', (t) => {
  const { workload } = importAzure2019(
    tables({
      invocations: 'HashOwner,HashApp,HashFunction,Trigger,1\no,a,f,http,1\no,b,f,http,2\n',
      memory:
        `HashOwner,HashApp,${MEMORY}\no,a,${MEMORY_ROW}\no,b,` +
        `${MEMORY_ROW.replace('120', '700')}\n`,
      durations:
        `HashOwner,HashApp,HashFunction,${DURATION}\no,a,f,${DURATION_ROW}\no,b,f,` +
        `${DURATION_ROW}\n`,
    }),
    OPTIONS,
  );
  t.deepEqual(
    workload.functions.map(({ name, memoryMiB }) => [name, memoryMiB]),
    [
      ['/guest/f', 128],
      ['/guest/f_2', 1024],
    ],
  );
});

test('functions without memory or durations are dropped, those without arrivals left out', (t) => {
  const { summary } = importAzure2019(
    tables({
      invocations: 'HashFunction,Trigger,1\nf,http,1\nnomem,http,1\nnodur,http,1\nnocalls,http,0\n',
      memory:
        `HashFunction,${MEMORY}\nf,${MEMORY_ROW}\nnodur,${MEMORY_ROW}\nnocalls,` +
        `${MEMORY_ROW}\n`,
      durations:
        `HashFunction,${DURATION}\nf,${DURATION_ROW}\nnomem,${DURATION_ROW}\nnocalls,` +
        `${DURATION_ROW}\n`,
    }),
    OPTIONS,
  );
  t.like(summary, { kept: 1, silent: 1, met: { withoutMemory: 1, withoutDuration: 1 } });
});

test('missing extremes, falling percentiles and p100 above Maximum are counted', (t) => {
  const { summary } = importAzure2019(
    tables({ durations: `HashFunction,${DURATION}\nf,50,9,,,10,12,40,30,60,80,90\n` }),
    OPTIONS,
  );
  const above = importAzure2019(
    tables({ durations: `HashFunction,${DURATION}\nf,50,9,10,70,10,12,40,50,60,80,90\n` }),
    OPTIONS,
  );
  // Maximum 70 stands below p99 = 80.
  t.is(above.summary.met.unordered, 1);
  t.like(summary, { kept: 1, met: { incomplete: 1, unordered: 1 } });
});

test('a byte order mark, CR LF and empty lines are accepted and counted', (t) => {
  const { summary } = importAzure2019(
    tables({ invocations: '\ufeffHashFunction,Trigger,1,2\r\nf,http,1,2\r\n\r\n' }),
    OPTIONS,
  );
  t.is(summary.kept, 1);
  // Two lines with content and the empty one.
  t.like(summary.met, { bom: 1, crlf: 3, blank: 1 });
});

test('ragged rows, trailing commas and bad tables are refused with file and line', (t) => {
  const header = 'HashFunction,Trigger,1,2\n';
  t.is(
    failure({ invocations: `${header}f,http,1\n` }),
    'inv.csv: line 2: 3 columns, but the header has 4',
  );
  t.is(
    failure({ invocations: `${header}f,http,1,2\ng,http,1,2,\n` }),
    'inv.csv: line 3: 5 columns, but the header has 4',
  );
  t.is(failure({ invocations: '' }), 'inv.csv: line 1: is empty: there is no header');
  t.is(failure({ invocations: header }), 'inv.csv: line 2: has a header but no rows');
  t.is(
    failure({ invocations: 'HashFunction,Trigger,2,1\nf,http,1,1\n' }),
    "inv.csv: line 1: minute column '2' stands where '1' belongs",
  );
  t.is(
    failure({ invocations: 'HashFunction,Trigger\nf,http\n' }),
    "inv.csv: line 1: there are no minute columns '1', '2', ...",
  );
  t.is(
    failure({ durations: 'HashFunction,Average\nf,1\n' }),
    "dur.csv: line 1: there is no column 'Minimum'",
  );
  t.is(failure({ memory: 'SampleCount\n1\n' }), "mem.csv: line 1: there is no column 'HashApp'");
  t.is(failure({ invocations: 'a,a\n1,2\n' }), "inv.csv: line 1: column 'a' is there twice");
  t.is(
    failure({ invocations: `${header}a/b,http,1,1\n` }),
    "inv.csv: line 2: 'a/b' cannot name a function",
  );
  t.regex(
    failure({ memory: `HashFunction,${MEMORY}\nother,${MEMORY_ROW}\n` }),
    /^inv\.csv: no function is left/,
  );
  // A minute short, as sampling tools leave them: the header says 1440.
  const minutes = Array.from({ length: 1440 }, (_, i) => i + 1).join(',');
  const counts = Array.from({ length: 1439 }, () => 0).join(',');
  t.is(
    failure({ invocations: `HashFunction,Trigger,${minutes}\nf,http,${counts}\n` }),
    'inv.csv: line 2: 1441 columns, but the header has 1442',
  );
});

test('what is no such table at all is refused at once', (t) => {
  t.throws(() => new Table('x.csv.gz', Uint8Array.of(0x1f, 0x8b, 8, 0)), {
    message: 'x.csv.gz: is packed (gzip)',
  });
  t.throws(() => new Table('wide.csv', 'a,'.repeat(1_000_000)), {
    message: 'wide.csv: line 1: more than 4096 columns',
  });
  t.throws(() => new Table('latin.csv', Uint8Array.of(0x61, 0x0a, 0xff, 0x0a)), {
    message: 'latin.csv: line 2: column 1 is not UTF-8',
  });
});

test('the shipped workload is what the importer makes of the sample', (t) => {
  const { workload } = importAzure2019(sample('exp_openwhisk'), {
    name: 'azure-ten',
    seed: 1,
  });
  const compression = { time: 10, duration: 10, aboveMs: 1000, floorMs: 300 };
  t.deepEqual(azureTen(), { ...workload, compression });
});
