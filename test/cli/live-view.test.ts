import test from 'ava';
import type { FunctionView, HostView } from '../../broker/services/index.js';
import { type LiveModel, LiveScreen, renderLive, renderPlain } from '../../cli/live-view.js';
import { colorsFor, visibleLength } from '../../runtime/output.js';

const row = {
  name: '/guest/thumb',
  mode: 'enforce',
  activations: 12,
  running: 1,
  containers: 1,
  cpuMode: 'quota',
  userCpu: 1000,
  userMemory: 268_435_456,
  userShares: 256,
  cpu: 400,
  memory: 268_435_456,
  shares: 256,
  harvestedCpuSeconds: 1.5,
  harvestedMebibyteSeconds: 0,
  acceleratedCpuSeconds: 0,
  savedSeconds: 0,
  borrowedMemory: 0,
  p99: 250,
  slo: 300,
  objective: 'kept',
  slowdown: null,
  safeguard: 'over_provisioned',
} as FunctionView;
const model: LiveModel = {
  hosts: [
    {
      host: 'invoker0',
      mode: 'enforce',
      killed: false,
      cpu: 4000,
      memory: 8_589_934_592,
      poolCpu: 2500,
      poolMemory: 1_073_741_824,
      activations: 12,
      running: 1,
    } as HostView,
  ],
  silentSeconds: {},
  functions: [
    row,
    {
      ...row,
      name: '/guest/wide',
      cpuMode: 'weight',
      shares: 512,
      p99: 900,
      objective: 'missed',
      acceleratedCpuSeconds: 2,
      savedSeconds: 3.25,
    },
  ],
  manager: 'greedy',
  platform: 'simulated',
  nats: 'connected',
  upSeconds: 9,
  restarts: 0,
  dashboard: null,
  notes: [],
};
const plain = colorsFor({ isTerminal: false }, {});
const colored = colorsFor({ isTerminal: true }, {});

test('a hook that no longer answers is named with the time, and its figures stay', (t) => {
  const silent = { ...model, silentSeconds: { invoker0: 12 } };
  t.regex(
    renderLive(silent, plain, 200),
    /host invoker0 {2}hook does not answer since 12 s {2}mode/,
  );
  t.regex(
    renderPlain(silent),
    /^up 9 s {2}invoker0: hook does not answer since 12 s {2}mode enforce/,
  );
  t.regex(renderPlain({ ...silent, nats: 'away' }), /^up 9 s {2}NATS disconnected {2}invoker0: /);
  const none = { ...model, hosts: [], nats: 'away' as const, upSeconds: null };
  t.regex(renderPlain(none), /^NATS disconnected {2}no hook answers {2}functions/);
});

test('the header names platform, manager, NATS, host, mode and pool', (t) => {
  const [first, second] = renderLive(model, plain, 200).split('\n');
  t.is(first, 'gleaner  platform simulated  manager greedy  NATS  up 9 s');
  const [other] = renderLive({ ...model, manager: null }, plain, 200).split('\n');
  t.is(other, 'gleaner  platform simulated  NATS  up 9 s');
  t.is(
    second,
    'host invoker0  mode enforce  4 cores 8192 MiB  pool 2.5 cores 1024 MiB  ' +
      'activations 12  running 1',
  );
});

test('a line has user and current limits, harvested and borrowed CPU', (t) => {
  const lines = renderLive(model, plain, 200).split('\n');
  const line = (name: string) =>
    lines
      .find((text) => text.startsWith(name))
      ?.split(/ {2,}/)
      .map((cell) => cell.trim());
  t.deepEqual(line('/guest/thumb'), [
    '/guest/thumb',
    '12',
    '1',
    '1 / 256',
    '0.4 / 256',
    '1.5',
    '-',
    '-',
    '-',
    '250ms',
    '300ms',
    'uses less than its limit',
  ]);
  t.deepEqual(line('/guest/wide'), [
    '/guest/wide',
    '12',
    '1',
    'w256 / 256',
    'w512 / 256',
    '1.5',
    '2.0',
    '-',
    '3.3',
    '900ms',
    '300ms',
    'uses less than its limit',
  ]);
});

test('the last lines say what columns mean, and which command explains a row', (t) => {
  const legend = renderLive(model, plain, 400).split('\n').at(-1)!;
  for (const text of [
    'user, now: cores or weight / MiB',
    'p99, slo: warm activations',
    'safeguard: reason of the allowed limits',
    'in another terminal: gleaner explain FUNCTION',
  ])
    t.true(legend.includes(text), legend);
});

test('no line is wider than the screen, and hidden functions are counted', (t) => {
  for (const width of [20, 60, 100])
    for (const line of renderLive(model, colored, width).split('\n'))
      t.true(visibleLength(line) <= width);
  const many = {
    ...model,
    functions: Array.from({ length: 50 }, (_, i) => ({ ...row, name: `/guest/f${i}` })),
  };
  const lines = renderLive(many, plain, 200, 20).split('\n');
  t.true(lines.length <= 20);
  t.true(lines.some((line) => /^… \d+ more$/.test(line)));
});

test('a narrow screen leaves out whole columns', (t) => {
  const lines = renderLive(model, colored, 80).split('\n');
  const head = lines.find((line) => line.startsWith('FUNCTION')) ?? '';
  for (const title of ['NOW', 'HARVESTED', 'BORROWED', 'P99', 'SLO'])
    t.true(head.includes(title), head);
  t.false(head.includes('LENT'));
  t.true(lines.some((line) => line.includes('running 1')));
  t.true(lines.some((line) => line.includes('Ctrl-C')));
});

test('lost NATS and the kill switch are shown in words', (t) => {
  const text = renderLive(
    { ...model, nats: 'away', restarts: 2, hosts: [{ ...model.hosts[0]!, killed: true }] },
    plain,
    200,
  );
  t.regex(text, /NATS disconnected: user limits/);
  t.regex(text, /stopped by the kill switch/);
  t.regex(text, /restarts 2/);
  t.regex(renderLive({ ...model, hosts: [] }, plain, 200), /waiting for the hook/);
});

test('without a terminal the view is one line of sums', (t) => {
  // 1.5 + 1.5 harvested, 2 borrowed, 3.25 saved; one of two functions is within its objective.
  t.is(
    renderPlain(model),
    'up 9 s  mode enforce  functions 2  activations 24  harvested 3.0 core-s  ' +
      'borrowed 2.0 core-s  saved 3.3 s  SLO kept 1/2  not enough control samples yet: 0 of 20',
  );
});

test('functions that still learn their objective are not counted as missed', (t) => {
  const learning = { ...model.functions[1]!, objective: 'learning' as const };
  t.regex(renderPlain({ ...model, functions: [row, learning] }), /SLO kept 1\/1 /);
  t.regex(renderPlain({ ...model, functions: [learning] }), /SLO learning /);
  // Over its objective, and not red.
  const line = renderLive({ ...model, functions: [learning] }, colored, 200)
    .split('\n')
    .find((each) => each.includes('900ms'))!;
  t.false(line.includes(colored.red('900ms')), line);
});

test('the verdict above the functions has change, interval and samples', (t) => {
  // Without variance the interval is the figure itself: exp(-.223144) = .8, exp(.182322) = 1.2.
  const sums = (samples: number, logRatio: number) => ({
    weight: samples / 2,
    difference: (samples / 2) * logRatio,
    variance: 0,
    varianceSquares: 0,
    activations: samples,
    controlSamples: samples,
  });
  const text = renderLive(
    {
      ...model,
      hosts: [{ ...model.hosts[0]!, comparison: sums(60, Math.log(0.8)), upSeconds: 30 }],
      functions: [
        { ...row, comparison: sums(40, Math.log(0.8)) },
        { ...row, name: '/guest/harmed', comparison: sums(20, Math.log(1.2)) },
        { ...row, name: '/guest/rare', comparison: sums(19, Math.log(9)) },
      ],
    },
    plain,
    200,
  );
  const lines = text.split('\n').slice(2, 5);
  t.deepEqual(lines, [
    'compared with the control arm: −20 % response time [95 % interval −20 % to −20 %, ' +
      '60 activations and 60 control samples]',
    'gained most  /guest/thumb  −20 % [−20 %, −20 %] (40 activations, 40 control samples)',
    'slowed most  /guest/harmed  +20 % [+20 %, +20 %] (20 activations, 20 control samples)',
  ]);
});

test('the previous screen is restored', (t) => {
  let written = '';
  const screen = new LiveScreen(
    {
      write: (text) => {
        written += text;
      },
      isTerminal: true,
      columns: 80,
    },
    plain,
  );
  screen.close();
  t.is(written, '');
  screen.draw(model, 30);
  screen.draw(model, 30);
  screen.close();
  t.is(written.split('\u001b[?1049h').length, 2);
  t.true(written.endsWith('\u001b[?25h\u001b[?1049l'));
});

test('`gleaner top` does not say that Ctrl-C stops Gleaner', (t) => {
  const plain = colorsFor({ isTerminal: false }, {});
  t.regex(renderLive(model, plain, 120), /Ctrl-C restores and stops/);
  const viewOnly = renderLive({ ...model, upSeconds: null }, plain, 120);
  t.notRegex(viewOnly, /restores|stops/);
  t.regex(viewOnly, /Ctrl-C quits this view/);
});
