import test from 'ava';
import { functionViewSchema } from '../../broker/services/index.js';
import {
  AmbiguousFunctionError,
  type FunctionRow,
  functionJson,
  functionNamed,
  functionTable,
  NARROW,
  UnknownFunctionError,
} from '../../cli/function-table.js';
import { colorsFor, visibleLength } from '../../runtime/output.js';

const plain = colorsFor({ isTerminal: false }, {});
const row: FunctionRow = {
  name: '/guest/image-thumbnail',
  host: 'invoker-rack3-host17',
  killed: false,
  mode: 'recommend',
  paused: false,
  activations: 10_285,
  running: 1,
  containers: 3,
  cpuMode: 'quota',
  userCpu: 1000,
  userMemory: 268_435_456,
  userShares: 256,
  cpu: 250,
  memory: 134_217_728,
  shares: 256,
  harvestedCpuSeconds: 1234.5,
  harvestedMebibyteSeconds: 99_999.9,
  acceleratedCpuSeconds: 12,
  savedSeconds: 3.25,
  borrowedMemory: 0,
  p99: 899.4,
  slo: 1327,
  objective: 'kept',
  slowdown: 0.93,
  slowerThanControl: false,
  safeguard: 'over_provisioned',
  target: null,
  ooms: { harvest: 0, user: 0 },
  concurrent: false,
};
const narrow = { wide: false, width: NARROW, colors: plain };

test('a function without a CPU limit has none, and not 0 cores', (t) => {
  const { lines } = functionTable([{ ...row, cpu: 0 }], narrow);
  t.regex(lines[0]!, / none\/1 /);
  t.regex(functionTable([{ ...row, cpu: 0 }], { ...narrow, wide: true }).lines[0]!, / none /);
});

test('the default table fits 100 columns, also with both kinds of CPU limits', (t) => {
  const one = functionTable([row], narrow);
  t.is(
    one.text,
    `\
FUNCTION                MODE       ACTIVATIONS  CORES NOW/USER  MIB NOW/USER  P99/SLO MS  OBJECTIVE
/guest/image-thumbnail  recommend        10285          0.25/1       128/256    899/1327  kept
`,
  );
  const mixed = functionTable(
    [row, { ...row, name: '/a/b', host: 'second', cpuMode: 'weight', shares: 16 }],
    narrow,
  );
  t.true(
    mixed.text.split('\n').every((line) => visibleLength(line) <= NARROW),
    mixed.text,
  );
  t.regex(mixed.text, /HOST .*CORES NOW\/USER .*WEIGHT NOW\/USER/);
  t.regex(mixed.lines[1]!, / 16\/256 /);
  // However narrow a terminal is, the name is whole and what is left stands in columns.
  const least = functionTable([row], { ...narrow, width: 60 });
  t.true(least.lines[0]!.startsWith('/guest/image-thumbnail '));
  t.true(visibleLength(least.heading) <= 60, least.heading);
});

test('the wide table has every figure, with units in headings only', (t) => {
  const { heading, lines } = functionTable([row], { ...narrow, wide: true });
  for (const title of [
    'HARVESTED CORE-S',
    'BORROWED CORE-S',
    'SAVED S',
    'P99 MS',
    'SLO MS',
    'MEAN-TIME RATIO',
    'USER MIB',
    'NOW CORES',
  ])
    t.true(heading.includes(title), title);
  t.notRegex(lines[0]!, /\d(ms|s|min|%)\b/);
});

test('JSON has every key of the contract, and null for a figure that a hook leaves out', (t) => {
  t.is(functionJson(row).payload, null, 'absent in the answer');
  t.deepEqual(
    Object.keys(functionJson(row)).sort(),
    [...Object.keys(functionViewSchema.shape), 'host', 'killed'].sort(),
  );
});

test('later rows line up with the headings of the first table', (t) => {
  const first = functionTable([row], narrow);
  const [later] = functionTable([{ ...row, cpu: 100, activations: 7 }], {
    ...narrow,
    like: first,
  }).lines;
  t.is(later!.indexOf('recommend'), first.lines[0]!.indexOf('recommend'));
  t.is(later!.length, first.lines[0]!.length);
});

test('a function is found by a unique end of its name', (t) => {
  const known = ['/guest/dh', '/guest/pkg/thumb', '/team/thumb', '/team/adh'];
  t.is(functionNamed('/guest/dh', known), '/guest/dh');
  t.is(functionNamed('dh', known), '/guest/dh', 'a part, not a suffix of letters');
  t.is(functionNamed('pkg/thumb', known), '/guest/pkg/thumb');
  const ambiguous = t.throws(() => functionNamed('thumb', known), {
    instanceOf: AmbiguousFunctionError,
  });
  t.regex(ambiguous.hint, /\/guest\/pkg\/thumb, \/team\/thumb/);
  const misspelt = t.throws(() => functionNamed('thumm', known), {
    instanceOf: UnknownFunctionError,
  });
  t.regex(misspelt.hint, /did you mean `thumb`\?/);
  t.throws(() => functionNamed('/_/', known), { instanceOf: UnknownFunctionError });
});
