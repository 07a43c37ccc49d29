import test from 'ava';
import type { Anomaly } from '../../../simulator/workload/anomalies.js';
import { importAzure2019 } from '../../../simulator/workload/azure-2019.js';
import { dataIssues, type ImportSummary, TraceError } from '../../../simulator/workload/index.js';
import { DURATION, DURATION_ROW, MEMORY, MEMORY_ROW } from './trace-tables.js';

const KEYS = 'HashOwner,HashApp,HashFunction';
const APP = 'HashOwner,HashApp';

/**
 * A sample's three tables with functions `f` and `g` of the application `a`; further rows as given.
 */
function sampleWith(rows: {
  invocations?: string[];
  memory?: string[];
  durations?: string[];
  only?: boolean;
}) {
  const lines = (header: string, own: string[], more: string[] = []): string =>
    `${[header, ...own, ...more].join('\n')}\n`;
  return {
    invocations: {
      name: 'inv.csv',
      content: lines(`${KEYS},Trigger,1,2`, ['o,a,f,http,1,2'], rows.invocations),
    },
    memory: {
      name: 'mem.csv',
      content: lines(`${APP},${MEMORY}`, [`o,a,${MEMORY_ROW}`], rows.memory),
    },
    durations: {
      name: 'dur.csv',
      content: lines(`${KEYS},${DURATION}`, [`o,a,f,${DURATION_ROW}`], rows.durations),
    },
  };
}

function met(summary: ImportSummary): Partial<Record<Anomaly, number>> {
  return Object.fromEntries(dataIssues(summary).map(({ kind, count }) => [kind, count]));
}

/** What is counted, and the error that it is with `strict`. */
function both(rows: Parameters<typeof sampleWith>[0]): {
  met: Partial<Record<Anomaly, number>>;
  strict: string;
} {
  const { summary } = importAzure2019(sampleWith(rows), { name: 'test' });
  let strict = 'no error';
  try {
    importAzure2019(sampleWith(rows), { name: 'test', strict: true });
  } catch (error) {
    if (!(error instanceof TraceError)) throw error;
    strict = error.message;
  }
  return { met: met(summary), strict };
}

test('a row with a negative number is skipped and counted, in each of the three tables', (t) => {
  // Negative averages are in published samples.
  const negative = DURATION_ROW.replace(/^50/, '-41692');
  t.deepEqual(both({ invocations: ['o,a,g,http,1,1'], durations: [`o,a,g,${negative}`] }), {
    met: { withoutDuration: 1, negative: 1 },
    strict: "dur.csv: line 3: column 'Average' is '-41692', not a number >= 0",
  });
  t.deepEqual(both({ invocations: ['o,a,g,http,1,-1'] }), {
    met: { negative: 1 },
    strict: "inv.csv: line 3: column '2' is '-1', not a number >= 0",
  });
  const lost = MEMORY_ROW.split(',').with(3, '-5').join(',');
  t.like(both({ memory: [`o,b,${lost}`] }), { met: { negative: 1 } });
});

test('a row with no number where one belongs is skipped and counted', (t) => {
  t.deepEqual(
    both({
      invocations: ['o,a,g,http,1,x', 'o,a,g,http,1.5,1', 'o,a,g,http,,1', 'o,a,g,http,NaN,1'],
    }),
    {
      met: { unreadable: 4 },
      strict: "inv.csv: line 3: column '2' is 'x', not a number >= 0",
    },
  );
  t.is(
    both({ invocations: ['o,a,g,http,1.5,1'] }).strict,
    "inv.csv: line 3: column '1' is 1.5, not a whole number of activations",
  );
  const endless = DURATION_ROW.replace(/^50/, '1e999');
  t.like(both({ durations: [`o,a,g,${endless}`] }), { met: { unreadable: 1 } });
});

test('two rows for one key: the first is used, differing values are counted apart', (t) => {
  t.deepEqual(both({ durations: [`o,a,f,${DURATION_ROW}`], memory: [`o,a,${MEMORY_ROW}`] }), {
    met: { repeated: 2 },
    strict: "mem.csv: line 3: 'o/a' is there already",
  });
  const other = DURATION_ROW.replace(/^50/, '51');
  t.deepEqual(both({ durations: [`o,a,f,${other}`] }), {
    met: { differing: 1 },
    strict: "dur.csv: line 3: 'o/a/f' is there already, with other values",
  });
  const { workload } = importAzure2019(sampleWith({ durations: [`o,a,f,${other}`] }), {
    name: 'test',
  });
  t.deepEqual(workload, importAzure2019(sampleWith({}), { name: 'test' }).workload);
});

test('an average outside of minimum to maximum is counted, and the nearer of both is used', (t) => {
  const row = DURATION_ROW.replace(/^50/, '9000');
  const files = {
    ...sampleWith({}),
    durations: { name: 'dur.csv', content: `${KEYS},${DURATION}\no,a,f,${row}\n` },
  };
  const { summary, workload } = importAzure2019(files, { name: 'test' });
  t.deepEqual(met(summary), { contradictory: 1 });
  t.deepEqual(workload, importAzure2019(sampleWith({}), { name: 'test' }).workload);
  t.throws(() => importAzure2019(files, { name: 'test', strict: true }), {
    message: 'dur.csv: line 2: Average 9000 lies outside of 10 to 90',
  });
});

test('memory and durations without invocations are counted', (t) => {
  t.deepEqual(both({ memory: [`o,z,${MEMORY_ROW}`], durations: [`o,a,h,${DURATION_ROW}`] }), {
    met: { unused: 2 },
    strict: "mem.csv: line 3: memory of 'o/z', of which there are no invocations",
  });
  // A function without an activation in the part taken, or beyond the number asked for, has
  // invocations.
  const files = sampleWith({
    invocations: ['o,a,g,http,0,0', 'o,a,h,http,1,1'],
    durations: [`o,a,h,${DURATION_ROW}`],
  });
  t.deepEqual(met(importAzure2019(files, { name: 'test', functions: 1 }).summary), {});
});

test('a function whose rows have different triggers keeps the first one', (t) => {
  const invocations = {
    name: 'inv.csv',
    content: 'HashFunction,Trigger,1\nf,http,1\nf,event,2\n',
  };
  const source = (name: string, content: string) => ({ name, content });
  const files = {
    invocations,
    memory: source('mem.csv', `HashFunction,${MEMORY}\nf,${MEMORY_ROW}\n`),
    durations: source('dur.csv', `HashFunction,${DURATION}\nf,${DURATION_ROW}\n`),
  };
  const { summary } = importAzure2019(files, { name: 'test' });
  t.like(summary, { met: { triggerChanged: 1 }, triggers: { http: 1 } });
  t.is(summary.first.triggerChanged, 'inv.csv: line 3');
});

test('of a trace of which nothing is left the error says what was odd', (t) => {
  const negative = DURATION_ROW.replace(/^50/, '-1');
  const files = {
    ...sampleWith({}),
    durations: { name: 'dur.csv', content: `${KEYS},${DURATION}\no,a,f,${negative}\n` },
  };
  const error = t.throws(() => importAzure2019(files, { name: 'test' }), {
    instanceOf: TraceError,
  })!;
  t.regex(error.hint ?? '', /1 rows with a negative number: skipped \(first: dur\.csv: line 2\)/);
});

test('more than a million activations in a minute are refused with their line', (t) => {
  for (const row of ['o,a,f,http,1,1e12', 'o,a,f,http,1000000,0'])
    t.throws(() => importAzure2019(sampleWith({ invocations: [row] }), { name: 'test' }), {
      instanceOf: TraceError,
      message: /^inv.csv: line 3: \d+ activations in a minute, more than 1000000/,
    });
});
