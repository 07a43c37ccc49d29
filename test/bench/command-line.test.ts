import { spawnSync } from 'node:child_process';
import test from 'ava';
import { BenchUsageError, parseBench } from '../../bench/command-line.js';
import {
  atLeast,
  type BenchRow,
  failureLines,
  json,
  none,
  precondition,
  promise,
  row,
  table,
  within,
} from '../../bench/report.js';
import { SUITES } from '../../bench/suites.js';

const bench = (...args: string[]) =>
  spawnSync(process.execPath, ['dist/bench/main.js', ...args], { encoding: 'utf8' });
const helpText = (...args: string[]): string => {
  const command = parseBench(args, SUITES);
  if (!('help' in command)) throw new Error('no help');
  return command.help;
};

for (const [name, { describes, options }] of Object.entries(SUITES))
  test(`bench ${name} --help says what it measures, what it needs and its options`, (t) => {
    const text = helpText(name, '--help');
    t.true(text.startsWith(`usage: npm run bench -- ${name} [options]`));
    t.true(text.includes(describes) && /\nNeeds: .+\.\n/.test(text));
    for (const option of Object.keys(options))
      t.regex(text, new RegExp(`^ {2}--${option}\\b`, 'm'));
    t.deepEqual(helpText('--help', name), text, 'wherever it stands');
  });

test('bench --help lists every suite with one line each', (t) => {
  const lines = helpText('--help').split('\n');
  for (const [name, { describes }] of Object.entries(SUITES))
    t.is(
      lines.filter((line) => line.trim() === `${name.padEnd(12)}  ${describes}`).length,
      1,
      name,
    );
});

test('options have the defaults of their suite, and take values in both forms', (t) => {
  const args = ['hook', '--rounds', '3', '--activations=50', '--output', 'json'];
  const command = parseBench(args, SUITES);
  if ('help' in command) return t.fail();
  const values = command.valuesOf('hook');
  t.deepEqual([command.suites, command.output], [['hook'], 'json']);
  t.deepEqual(
    [values.number('rounds'), values.number('activations'), values.number('seconds')],
    [3, 50, 20],
  );
  const fidelity = parseBench(['fidelity', '--modes', 'weight'], SUITES);
  if ('help' in fidelity) return t.fail();
  t.deepEqual(fidelity.valuesOf('fidelity').list('modes'), ['weight']);
  t.true(fidelity.valuesOf('fidelity').list('managers').length > 1, 'all, if not given');
});

test('--calls is the old name of --activations', (t) => {
  const command = parseBench(['footprint', '--calls', '7'], SUITES);
  if ('help' in command) return t.fail();
  t.is(command.valuesOf('footprint').number('activations'), 7);
  t.false(helpText('footprint', '--help').includes('--calls'));
});

test('each suite has its own defaults, and options apply to every suite with them', (t) => {
  // 20 and 60 s, 30 and 5 rounds: as `--help` of each says.
  const command = parseBench(['hook', 'weight', '--seed', '7'], SUITES);
  if ('help' in command) return t.fail();
  const [hook, weight] = [command.valuesOf('hook'), command.valuesOf('weight')];
  t.deepEqual([hook.number('seconds'), hook.number('rounds')], [20, 30]);
  t.deepEqual(
    [weight.number('seconds'), weight.number('rounds'), weight.number('seed')],
    [60, 5, 7],
  );
});

for (const [args, message] of [
  [[], /name a suite/],
  [['nothing'], /there is no suite 'nothing': hook, /],
  [['toString'], /there is no suite 'toString'/],
  [['hook', '--sideways'], /there is no option --sideways/],
  [['hook', '--load', '1'], /hook has no option --load/],
  [['hook', '--rounds'], /--rounds needs a value/],
  [['hook', '--rounds', 'many'], /--rounds many: not a number above 0/],
  [['hook', '--rounds', '0'], /not a number above 0/],
  [['toy', '--quick=yes'], /--quick takes no value/],
  [['fidelity', '--modes', 'weight,none'], /--modes none: not one of /],
  [['hook', '--output', 'xml'], /--output xml/],
] as const)
  test(`bench refuses: ${args.join(' ') || '(nothing)'}`, (t) => {
    t.throws(() => parseBench(args, SUITES), { instanceOf: BenchUsageError, message });
  });

test('help ends with 0, wrong usage with 2 and without a stack trace', (t) => {
  const help = bench('hook', '--help');
  t.is(help.status, 0);
  t.regex(help.stdout, /--rounds N/);
  const wrong = bench('nothing');
  t.is(wrong.status, 2);
  t.regex(wrong.stderr, /^bench: there is no suite 'nothing'/);
  t.notRegex(wrong.stderr, /\n {4}at /);
});

test('a broken precondition fails the bench, and is in table and JSON', (t) => {
  const rows: BenchRow[] = [
    row('x.latency', 12, 'us', { goal: '<= 50' }),
    within('x.changes', 0, 2, 0.05, 'writes an activation', 'the hook changed no limit'),
    within('x.seen', 0.999, 1, 0.005, 'of those sent', 'some were missed'),
    none('x.failed', 0, 'activations', 'activations failed'),
    atLeast('x.steps', Number.NaN, 1, 'steps', 'nothing was learned'),
  ];
  t.deepEqual(
    rows.map(({ failed }) => failed ?? false),
    [false, true, false, false, true],
  );
  t.deepEqual(failureLines(rows), [
    'precondition does not hold: x.changes is 0 writes an activation, not 2 ± 5 %: ' +
      'the hook changed no limit',
    'precondition does not hold: x.steps is - steps, not >= 1: nothing was learned',
  ]);
  t.regex(table(rows), /x\.changes +0 .*PRECONDITION DOES NOT HOLD: the hook changed no limit/);
  const [latency, changes, seen] = JSON.parse(json(rows)) as Record<string, unknown>[];
  t.false('precondition' in latency!);
  t.deepEqual(changes!.precondition, { holds: false, why: 'the hook changed no limit' });
  t.like(seen!.precondition, { holds: true });
  t.is(precondition('x', 1, 'u', { holds: true, needs: '1', why: '' }).failed, false);
});

test('a broken promise fails the bench; another goal that is missed is only shown', (t) => {
  const rows = [
    row('x.latency', 80, 'us', { goal: '<= 50' }),
    promise('x.killed', 0, 'of 100'),
    promise('x.lost', 1, 'of 8', { note: 'lenders' }),
    promise('x.failed', 3, 'activations', { most: 3 }),
    promise('x.more', 4, 'activations', { most: 3 }),
    promise('x.unknown', Number.NaN, 'activations'),
  ];
  t.deepEqual(failureLines(rows), [
    'broken: x.lost is 1 of 8, not 0',
    'broken: x.more is 4 activations, not <= 3',
    'broken: x.unknown is - activations, not 0',
  ]);
  t.deepEqual(
    rows.map(({ failed }) => failed ?? false),
    [false, false, true, false, true, true],
  );
});

test('the weight bench refuses a trace on an engine that it cannot trace', (t) => {
  const { status, stderr } = bench('weight', '--engine', 'kubernetes', '--trace', '/dev/null');
  t.is(status, 1);
  t.regex(stderr, /^bench: --trace needs --engine docker/m);
});
