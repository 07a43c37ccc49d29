import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SeededRandom } from '../../config/index.js';
import { median, quantile, sum } from '../../experiments/statistics.js';
import { GleanerProcess } from '../benefit/gleaner-process.js';
import { Farm, type LoadResult } from '../farm/farm.js';
import { figuresOf, type ProcessFigures, partsBelow, tcpdumpsBelow } from '../farm/figures.js';
import type { LoopSecond } from '../farm/loop-probe.js';
import { growthOf } from '../growth.js';
import { type BenchRow, none, precondition, row, within } from '../report.js';

const probeFile = (name: string): string =>
  fileURLToPath(new URL(`../farm/${name}.js`, import.meta.url));
const NO_METRICS = { hook: null, agents: null, aggregator: null };
/** Activations per container before the measurement, for a history of each function. */
const WARM_MILLIS = 20_000;
/** A busy machine needs its time to list two thousand containers. */
const START_MILLIS = 120_000;
const SAMPLE_MILLIS = 10_000;
/** Intervals of samples and full collections while growth is measured. */
const LONG_SAMPLE_MILLIS = 30_000;

export interface FootprintOptions {
  readonly functions: number;
  readonly containers: number;
  readonly perSecond: number;
  readonly seconds: number;
  /**
   * Containers ended and replaced a second, while it is measured; then growth is looked for, too.
   */
  readonly churn: number;
  /** The containers' processes use CPU between any two samples, so that each is read in full. */
  readonly busy: boolean;
  readonly seed: number;
  readonly log: (line: string) => void;
}

/** Memory, CPU and event-loop delay of the hook of a whole Gleaner with a farm of containers. */
export async function benchFootprint(options: FootprintOptions): Promise<BenchRow[]> {
  const { functions, containers, perSecond, churn, log } = options;
  const random = new SeededRandom(options.seed);
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-footprint-'));
  const farm = new Farm({
    functions,
    containers,
    random: random.fork('farm'),
    process: options.busy ? 'waking' : 'sleeping',
  });
  let gleaner: GleanerProcess | null = null;
  const over = new AbortController();
  let load: Promise<LoadResult> | null = null;
  try {
    await farm.start();
    log(`${containers} containers of ${functions} functions`);
    const probes = churn > 0 ? ['loop-probe', 'heap-probe'] : ['loop-probe'];
    gleaner = new GleanerProcess(
      {
        mode: 'enforce',
        hook: farm.hookSettings,
        dashboard: { listen: null },
        metrics: NO_METRICS,
      },
      {
        NODE_OPTIONS: probes.map((probe) => `--import ${probeFile(probe)}`).join(' '),
        GLEANER_LOOP_PROBE: join(folder, 'lags'),
        GLEANER_HEAP_PROBE: folder,
        GLEANER_HEAP_PROBE_MILLIS: String(LONG_SAMPLE_MILLIS),
      },
    );
    await gleaner.start(START_MILLIS);
    const durations = random.fork('durations');
    load = farm.load(perSecond, () => 50 + 700 * durations.next(), over.signal);
    await pause(WARM_MILLIS);
    const measured = await measure(gleaner, farm, folder, options);
    over.abort();
    const { sent, failed, skipped, delayed } = await load;
    if (skipped > 0) log(`${skipped} activations were not sent: no container was idle`);
    if (delayed > 0)
      log(`${delayed} activations were not answered in time while the bench itself was held up`);
    const rows = [...rowsOf(measured, options), ...(churn > 0 ? growthRows(measured, churn) : [])];
    rows.push(
      row('footprint.failed', failed, 'activations', {
        goal: '0',
        note: `of ${sent}`,
        failed: failed > 0,
      }),
    );
    return rows;
  } finally {
    over.abort();
    await load?.catch(() => undefined);
    await gleaner?.stop();
    await farm.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Moment {
  readonly at: number;
  readonly hook: ProcessFigures;
  /** CPU time of every tcpdump of the hook so far, ms; the sum of their memory, MiB. */
  readonly tcpdump: { readonly cpuMillis: number; readonly rss: number };
  /** Alive in the hook after a full collection, MiB; NaN if nothing was collected yet. */
  readonly heap: number;
}

interface Measured {
  readonly moments: readonly Moment[];
  readonly loop: readonly LoopSecond[];
  readonly lag: { readonly p50: number; readonly p99: number };
  readonly sent: number;
  readonly seen: number;
  readonly drops: number;
  readonly containers: number;
}

async function measure(
  gleaner: GleanerProcess,
  farm: Farm,
  folder: string,
  { seconds, churn, log }: FootprintOptions,
): Promise<Measured> {
  const lags = join(folder, 'lags');
  const pid = partsBelow(gleaner.pid).get('hook') ?? 0;
  const moment = (): Moment => {
    const hook = figuresOf(pid);
    const tcpdumps = tcpdumpsBelow(pid).map(figuresOf);
    if (hook === null || tcpdumps.length === 0)
      throw new Error(`the hook or its tcpdump has ended:\n${gleaner.output}`);
    const tcpdump = {
      cpuMillis: sum(tcpdumps.map((each) => each?.cpuMillis ?? 0)),
      rss: sum(tcpdumps.map((each) => each?.rss ?? 0)),
    };
    const heap = Number(lines(join(folder, 'hook.heap')).at(-1) ?? Number.NaN) / 2 ** 20;
    return { at: performance.now(), hook, tcpdump, heap };
  };
  const before = { sent: farm.sent, started: (await gleaner.status()).counters.started };
  const linesBefore = lines(lags).length;
  const moments = [moment()];
  const replacing = setInterval(() => {
    for (let i = 0; i < churn; i++)
      void farm.replaceOne().catch((error: unknown) => log(`not replaced: ${error}`));
  }, 1000);
  if (churn === 0) clearInterval(replacing);
  try {
    for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
      await pause(
        Math.min(churn > 0 ? LONG_SAMPLE_MILLIS : SAMPLE_MILLIS, until - performance.now()),
      );
      moments.push(moment());
      const { at, hook, heap } = moments.at(-1)!;
      const alive = Number.isNaN(heap) ? '' : `, ${heap.toFixed(1)} MiB alive`;
      const second = ((at - moments[0]!.at) / 1000).toFixed(0);
      log(
        `${second} s: ${hook.rss.toFixed(1)} MiB${alive}, ${hook.descriptors} files, ` +
          `${farm.sent} activations`,
      );
    }
  } finally {
    clearInterval(replacing);
  }
  const loop = lines(lags)
    .slice(linesBefore)
    .map((line) => JSON.parse(line) as LoopSecond);
  // Of both what came between two answers of the hook; each answer lies a second or so after what
  // was sent is counted.
  const sent = farm.sent - before.sent;
  const { counters, host } = await gleaner.status();
  const { lagMicros, started, tapDrops } = counters;
  const seen = started - before.started;
  return {
    moments,
    loop,
    lag: lagMicros ?? noLag,
    sent,
    seen,
    drops: tapDrops,
    containers: host.containers,
  };
}

const noLag = { p50: Number.NaN, p99: Number.NaN };
const pause = (millis: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, millis));

/** None where the file is not there yet. */
function lines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    return [];
  }
}

function rowsOf(
  { moments, loop, ...measured }: Measured,
  { containers, perSecond }: FootprintOptions,
): BenchRow[] {
  const [first, last] = [moments[0]!, moments.at(-1)!];
  const wall = last.at - first.at;
  const share = (of: 'hook' | 'tcpdump'): number =>
    ((last[of].cpuMillis - first[of].cpuMillis) / wall) * 100;
  const rss = moments.map((each) => each.hook.rss);
  return [
    row('footprint.rss', median(rss), 'MiB', {
      goal: '<= 100',
      note:
        `hook of ${measured.containers} containers (${containers} made), ` +
        `most ${Math.max(...rss).toFixed(1)}; tcpdump ${last.tcpdump.rss.toFixed(1)}`,
    }),
    row('footprint.cpu', share('hook') + share('tcpdump'), '% of a core', {
      goal: '<= 15',
      note:
        `hook ${share('hook').toFixed(1)}, tcpdump ${share('tcpdump').toFixed(1)}, ` +
        `at ${perSecond} activations/s`,
    }),
    ...loopRows(loop),
    row('footprint.lag.p99', measured.lag.p99 / 1000, 'ms', {
      note: `from the packet to the limit in force; p50 ${(measured.lag.p50 / 1000).toFixed(2)}`,
    }),
    // What is under way at either end is counted on one side.
    within(
      'footprint.seen',
      measured.seen / measured.sent,
      1,
      0.02,
      'of activations sent',
      'what the tap missed cost the hook nothing',
    ),
    within(
      'footprint.containers',
      measured.containers,
      containers,
      0.01,
      'containers',
      'the hook managed other containers than the figures are for',
    ),
    precondition('footprint.rate', measured.sent / (wall / 1000), 'activations/s', {
      holds: measured.sent / (wall / 1000) >= 0.9 * perSecond,
      needs: `${perSecond}, -10 %`,
      why: 'this machine was too slow or too busy for the load that the figures are for',
    }),
    none(
      'footprint.dropped',
      measured.drops,
      'reports of loss',
      'packets that the kernel dropped cost the hook nothing',
    ),
    row('footprint.files', last.hook.descriptors, 'descriptors', {}),
  ];
}

/** Delays of the event loop, with the parts caused by busy cores and by garbage collection. */
function loopRows(seconds: readonly LoopSecond[]): BenchRow[] {
  const late = seconds.flatMap((each) => each.late);
  const waited = seconds.flatMap((each) => each.waited);
  const collections = seconds.flatMap((each) => each.collections);
  const millis = (values: readonly number[], q: number): string =>
    (quantile(values, q) / 1000).toFixed(2);
  return [
    row('footprint.loop.p99', quantile(late, 0.99) / 1000, 'ms', {
      goal: '<= 5',
      note:
        `event loop late; p50 ${millis(late, 0.5)}, p99.9 ${millis(late, 0.999)}, ` +
        `most ${millis(late, 1)} of ${late.length}`,
    }),
    row('footprint.waited', sum(waited) / 10_000 / seconds.length, '% of the time', {
      note: `the hook could run and had no core; p99 of 50 ms: ${millis(waited, 0.99)} ms`,
    }),
    row('footprint.collected', sum(collections) / 10 / seconds.length, '% of the time', {
      note:
        `garbage; ${collections.length} times, median ${median(collections).toFixed(1)} ms, ` +
        `${Math.max(0, ...collections).toFixed(1)} at most`,
    }),
  ];
}

/** As the soak judges it. */
function growthRows({ moments }: Measured, churn: number): BenchRow[] {
  const minutes = ((moments.at(-1)!.at - moments[0]!.at) / 60_000).toFixed(0);
  const held = moments.filter(({ heap }) => !Number.isNaN(heap)).map(({ heap }) => heap);
  return [
    { name: 'rss', unit: 'MiB', slack: 12, values: moments.map(({ hook }) => hook.rss) },
    { name: 'heap', unit: 'MiB', slack: 2, values: held },
    {
      name: 'files',
      unit: 'descriptors',
      slack: 8,
      values: moments.map(({ hook }) => hook.descriptors),
    },
  ].map((series) => {
    const { quarters, grows } = growthOf(series);
    const [second, third, last] = quarters.map((value) => value.toFixed(1));
    return row(`footprint.growth.${series.name}`, quarters[2] - quarters[0], series.unit, {
      goal: 'flat',
      note:
        `${grows ? 'GROWS' : 'flat'}: quarters ${second}, ${third}, ${last}; ` +
        `${minutes} min, ${churn} containers replaced a second`,
      failed: grows,
    });
  });
}
