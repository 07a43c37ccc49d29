import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { awareFunction, awareName } from '../../../simulator/workload/aware.js';
import { builtinWorkloads } from '../../../simulator/workload/builtin.js';
import {
  ActivationBlock,
  activationStream,
  awareApps,
  CHANGE_SCENARIOS,
  type ChangeScenario,
  checkWorkload,
  expectedLoad,
  INPUTS,
  openWorkload,
  shippedSplit,
} from '../../../simulator/workload/index.js';
import { builtinWorkload } from '../../../simulator/workload/open.js';
import { scenarioPhases } from '../../../simulator/workload/scenarios.js';
import { SEGMENT_NAMES } from '../../../simulator/workload/segments.js';
import { WorkloadError } from '../../../simulator/workload/workload.js';

const PARTS = ['train', 'validation', 'test'] as const;
const lastName = (name: string) => name.slice(name.lastIndexOf('/') + 1);

/** Median CPU work of a function's activation, core-ms: at the median payload. */
function medianCpu(fn: ReturnType<typeof awareFunction>): number {
  const made = checkWorkload({ version: 1, name: 'test', functions: [fn] }).functions[0]!.profile;
  if (typeof made.cpuMs !== 'object' || !('lognormal' in made.cpuMs)) throw new Error('lognormal');
  return made.cpuMs.lognormal.median * made.payload.median ** made.payload.cpu;
}

test('every named workload opens and has activations', (t) => {
  const examples: Record<string, string> = {
    'aware-app': 'aware-app:17',
    change: 'change:file-size',
  };
  for (const { name } of builtinWorkloads) {
    const { workload, phases } = openWorkload(examples[name] ?? name);
    t.true(expectedLoad(workload, 4) > 0, name);
    t.is(phases[0], workload);
  }
  t.is(openWorkload('profiles-12').workload.functions.length, 12);
  t.is(openWorkload('aware').workload.functions.length, 1000);
  t.is(openWorkload('aware:20').workload.functions.length, 20);
  t.is(openWorkload('aware-app:17').workload.functions[0]!.name, '/aware/app-017');
});

test('names that are none are refused with what there is', (t) => {
  const refused = (name: string, message: RegExp) =>
    t.throws(() => builtinWorkload(name), { instanceOf: WorkloadError, message });
  refused('aware-app:1000', /ids run from 0 to 999/);
  refused('aware-app', /ids run from 0 to 999/);
  refused('aware-app:x', /'x' is no number/);
  refused('change:weather', /there are file-size, table-size, /);
  refused('nothing', /is no workload \(there are azure-ten, /);
});

test('the sample’s first functions are those of the file', (t) => {
  const names = openWorkload('azure-sample:3').workload.functions.map(({ name }) => name);
  t.deepEqual(names, ['/guest/0', '/guest/1', '/guest/2']);
});

test('different objectives: six tight and six relaxed, alternating by CPU work', (t) => {
  const { workload } = openWorkload('profiles-12-slos');
  const slo = Object.fromEntries(
    workload.functions.map(({ name, sloMs }) => [lastName(name), sloMs]),
  );
  // By CPU work: http-endpoint 4, file-write 12, json 18, markdown2html 25, ... The second is
  // urgent: 1.2 x its p99 alone at 400 of its 500 millicores: 12 / .4 x exp(2.326 x sqrt((.7 x
  // .6)^2 + .1^2)) + 80 x exp(2.326 x sqrt((1 x .6)^2 + .3^2)) = 82 + 381 = 463, x 1.2 = 555,
  // rounded to two digits.
  t.is(slo['file-write'], 560);
  // The first is patient: 4 / .5 x exp(2.326 x sqrt(.12^2 + .1^2)) + 60 x exp(2.326 x sqrt(.04^2 +
  // .3^2)) = 11.5 + 121 = 133, x 6 = 797.
  t.is(slo['http-endpoint'], 800);
  const p99 = ({ profile, userCpuMillicores }: (typeof workload.functions)[number]): number => {
    const { cpuMs, ioMs, payload, parallelism } = profile;
    const at99 = (of: typeof cpuMs, exponent: number): number => {
      if (typeof of === 'number') return of;
      if (!('lognormal' in of)) throw new Error('lognormal');
      const { median, sigma } = of.lognormal;
      return median * Math.exp(2.326 * Math.hypot(exponent * payload.sigma, sigma));
    };
    const cores = Math.min(parallelism, userCpuMillicores! / 1000);
    return at99(cpuMs, payload.cpu) / cores + at99(ioMs, payload.io);
  };
  const work = ({ profile: { cpuMs } }: (typeof workload.functions)[number]): number =>
    typeof cpuMs === 'object' && 'lognormal' in cpuMs ? cpuMs.lognormal.median : Number.NaN;
  [...workload.functions]
    .sort((a, b) => work(a) - work(b))
    .forEach((fn, rank) => {
      const factor = rank % 2 === 1 ? 1.2 : 6;
      t.is(fn.sloMs, Number((factor * p99(fn)).toPrecision(2)), fn.name);
    });
  t.deepEqual(
    workload.functions.map(({ sloMs: _, ...fn }) => fn),
    openWorkload('profiles-12').workload.functions,
  );
});

test('the twelve profiles: payload sizes drive CPU, waits and memory by their exponents', (t) => {
  const { workload } = openWorkload('profiles-12');
  const matMul = workload.functions.find(({ name }) => name === '/guest/matMul')!;
  t.like(matMul.profile.payload, { cpu: 3, memory: 2 });
  const wanting = workload.functions.filter(
    (fn) => fn.profile.parallelism > fn.userCpuMillicores! / 1000,
  );
  t.deepEqual(
    wanting.map(({ name }) => lastName(name)),
    ['primes', 'matMul', 'floatOperations', 'compress'],
  );
});

test('the fixed files are what the script makes', (t) => {
  const script = fileURLToPath(new URL('../../../../scripts/make-splits.mjs', import.meta.url));
  t.is(execFileSync(process.execPath, [script, '--check'], { encoding: 'utf8' }), '');
});

test('there are 1000 applications of one to three segments', (t) => {
  const apps = awareApps();
  t.is(apps.length, 1000);
  const lengths = [1, 2, 3].map(
    (length) => apps.filter(({ segments }) => segments.length === length).length,
  );
  // A third each: 333 with a standard deviation of 15.
  for (const count of lengths) t.true(Math.abs(count - 333) < 60, `${lengths}`);
  t.is(new Set(apps.flatMap(({ segments }) => segments)).size, 16);
  t.true(apps.some(({ activationsPerDay }) => activationsPerDay > 100_000));
});

test('800 applications to train, 200 to test, no composition in two parts', (t) => {
  const { functions } = shippedSplit('aware');
  t.deepEqual(
    PARTS.map((part) => functions[part].length),
    [640, 160, 200],
  );
  const byName = new Map(awareApps().map((app) => [awareName(app), app]));
  const compositions = PARTS.map(
    (part) => new Set(functions[part].map((name) => [...byName.get(name)!.segments].sort().join())),
  );
  t.is(new Set(PARTS.flatMap((part) => functions[part])).size, 1000);
  const all = compositions.flatMap((set) => [...set]);
  t.is(new Set(all).size, all.length);
});

test('splits by function and by time are disjoint and complete', (t) => {
  for (const name of ['azure-ten', 'azure-sample', 'profiles-12', 'profiles-12-slos']) {
    const names = openWorkload(name).workload.functions.map((fn) => lastName(fn.name));
    const split = shippedSplit(name);
    t.deepEqual(PARTS.flatMap((part) => split.functions[part]).sort(), [...names].sort());
    t.deepEqual(split.minutes, { train: [0, 36], validation: [36, 48], test: [48, 60] });
  }
  t.is(shippedSplit('azure-sample').functions.test.length, 200);
  const test5 = openWorkload('azure-sample:5', { part: 'test' }).workload;
  t.deepEqual(
    test5.functions.map((fn) => lastName(fn.name)),
    shippedSplit('azure-sample').functions.test.slice(0, 5),
  );
  // Minutes 48 to 59 of 60, all functions.
  const late = openWorkload('azure-ten', { part: 'test', partBy: 'time' }).workload;
  const whole = openWorkload('azure-ten').workload;
  late.functions.forEach((fn, i) => {
    const { arrivals } = whole.functions[i]!;
    t.true('perMinute' in arrivals && 'perMinute' in fn.arrivals);
    if ('perMinute' in arrivals)
      t.like(fn.arrivals, { perMinute: arrivals.perMinute.slice(48, 60) });
  });
  t.throws(() => openWorkload('change:load', { part: 'train' }), { message: /has no parts/ });
});

test('the seven scenarios: the same functions, and what changes grows as printed', (t) => {
  // Ratios of the published medians [AWARE], and how much CPU work of the segment that
  // only grows with them.
  const expected: Record<string, number> = {
    // compress: 1 + 12 x 3 against 1 + 12; the file grows from 256 to 768 KB.
    compress: 37 / 13,
    // imageRotate: 4 + 1 x 16 against 5.
    imageRotate: 20 / 5,
    // json2yaml: 1 + 2 x 6 against 3.
    json2yaml: 13 / 3,
    // matMul: three times the rows, 27 times the work: 1 + 5 x 27 against 6.
    matMul: 136 / 6,
    // dynamoRead: ten times the items: 1.5 + 20 against 3.5.
    dynamoRead: 21.5 / 3.5,
    // floatOperations: 1 + 600 against 301.
    floatOperations: 601 / 301,
  };
  t.is(Object.keys(CHANGE_SCENARIOS).length, 7);
  const seen = new Set<string>();
  for (const scenario of Object.keys(CHANGE_SCENARIOS) as ChangeScenario[]) {
    const phases = scenarioPhases(scenario);
    const [before, after] = [phases[0]!, phases[1]!];
    t.deepEqual(
      before.functions.map(({ name, memoryMiB }) => [name, memoryMiB]),
      after.functions.map(({ name, memoryMiB }) => [name, memoryMiB]),
    );
    if (scenario === 'load') continue;
    before.functions.forEach((fn, i) => {
      const ratio = medianCpu(after.functions[i]!) / medianCpu(fn);
      const wanted = expected[fn.kind];
      t.true(ratio > 1, fn.kind);
      if (wanted === undefined) return;
      seen.add(fn.kind);
      t.true(Math.abs(ratio / wanted - 1) < 0.01, `${fn.kind}: ${ratio}`);
    });
  }
  t.deepEqual([...seen].sort(), Object.keys(expected).sort());
  t.is(INPUTS.image.after / INPUTS.image.before, 16);
  const load = scenarioPhases('load').map(({ functions }) => functions[0]!.arrivals);
  const rates = load.map((arrivals) =>
    'ratePerSecond' in arrivals ? arrivals.ratePerSecond * 86_400 : 0,
  );
  t.true(rates[0]! > 1e5 && rates[1]! < 1e5 && rates[2] === rates[0], `${rates}`);
});

test('a scenario that changes none of the applications is refused; one may be asked for', (t) => {
  const sleeping = { id: 5, segments: ['sleep'] as const, size: 1, activationsPerDay: 1000 };
  t.throws(() => scenarioPhases('file-size', [sleeping]), { message: /changes no segment/ });
  const mixed = { ...sleeping, segments: ['sleep', 'compress'] as const };
  t.is(scenarioPhases('file-size', [mixed], 5)[1]!.functions[0]!.name, '/aware/app-005');
});

test('a scenario plays as one stream: before, then after, at one time scale', (t) => {
  const loaded = openWorkload('change:matrix-size', { load: { load: 0.5, cores: 1 } });
  t.is(loaded.phases.length, 2);
  t.is(loaded.phases[1]!.compression.time, loaded.phases[0]!.compression.time);
  const stream = activationStream(loaded, { activations: 2000 });
  const block = new ActivationBlock(5000);
  const cpu = [0, 0];
  let activations = 0;
  for (let count = stream.fill(block); count > 0; count = stream.fill(block)) {
    for (let i = 0; i < count; i++) cpu[activations++ < 1000 ? 0 : 1]! += block.cpu[i]!;
  }
  t.is(activations, 2000);
  // 136 / 6 = 22.7 at the medians; in the mean the larger exponent adds to it.
  t.true(cpu[1]! / cpu[0]! > 15, `${cpu[1]! / cpu[0]!}`);
});

testProp(
  'a composed application needs no less than the largest of its segments alone',
  [
    fc.array(fc.constantFrom(...SEGMENT_NAMES), { minLength: 1, maxLength: 3 }),
    fc.constantFrom(0.5, 1, 1.5),
    fc.constantFrom(...(Object.keys(INPUTS) as (keyof typeof INPUTS)[])),
  ],
  (t, segments, size, input) => {
    const of = (names: typeof segments) =>
      medianCpu(
        awareFunction(
          { id: 0, segments: names, size, activationsPerDay: 1000 },
          { grown: new Set([input]) },
        ),
      );
    // Published numbers are rounded to a thousandth.
    for (const name of segments) t.true(of(segments) >= of([name]) * 0.98 - 0.01);
  },
);
