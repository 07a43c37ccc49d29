import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SeededRandom } from '../../config/index.js';
import { Farm, type LoadResult } from '../farm/farm.js';
import { figuresOf, type ProcessFigures, partsBelow } from '../farm/figures.js';
import { type BenchRow, row } from '../report.js';
import { median, quantile } from '../statistics.js';
import { GleanerProcess } from '../worth/gleaner-process.js';

const PROBE = fileURLToPath(new URL('../farm/loop-probe.js', import.meta.url));
const NOWHERE = { hook: null, agents: null, aggregator: null };
/** Each container is warm, and its function has a history, before anything is measured. */
const WARM_MILLIS = 20_000;

export interface FootprintOptions {
  readonly functions: number;
  readonly containers: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** Containers ended and replaced a second, while it is measured. */
  readonly churn: number;
  readonly seed: number;
  readonly log: (line: string) => void;
}

/** The hook of a whole Gleaner beside a farm: what it holds, what it uses, how long its event loop is held up. */
export async function benchFootprint(options: FootprintOptions): Promise<BenchRow[]> {
  const { functions, containers, perSecond, log } = options;
  const random = new SeededRandom(options.seed);
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-footprint-'));
  const probe = join(folder, 'lags');
  const farm = new Farm({ functions, containers, random: random.fork('farm') });
  let gleaner: GleanerProcess | null = null;
  const over = new AbortController();
  let load: Promise<LoadResult> | null = null;
  try {
    await farm.start();
    log(`${containers} containers of ${functions} functions`);
    gleaner = new GleanerProcess(
      { mode: 'enforce', hook: farm.hookSettings, dashboard: { listen: null }, metrics: NOWHERE },
      { NODE_OPTIONS: `--import ${PROBE}`, GLEANER_LOOP_PROBE: probe },
    );
    await gleaner.start();
    const durations = random.fork('durations');
    load = farm.load(perSecond, () => 50 + 700 * durations.next(), over.signal);
    await pause(WARM_MILLIS);
    const measured = await measure(gleaner, farm, probe, options);
    over.abort();
    const { sent, failed, skipped } = await load;
    if (failed > 0) throw new Error(`${failed} of ${sent} activations failed`);
    if (skipped > 0) log(`${skipped} activations were not sent: no container was idle`);
    return rows(measured, options);
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
  readonly tcpdump: ProcessFigures;
}

interface Measured {
  readonly moments: readonly Moment[];
  /** Event loop of the hook, us late, every 10 ms. */
  readonly late: readonly number[];
  readonly lag: { readonly p50: number; readonly p99: number };
  readonly sent: number;
  readonly seen: number;
  readonly drops: number;
  readonly containers: number;
}

async function measure(
  gleaner: GleanerProcess,
  farm: Farm,
  probe: string,
  { seconds, churn, log }: FootprintOptions,
): Promise<Measured> {
  const parts = partsBelow(gleaner.pid);
  const moment = (): Moment => {
    const [hook, tcpdump] = [parts.get('hook'), parts.get('tcpdump')].map((pid) => figuresOf(pid ?? 0));
    if (!hook || !tcpdump) throw new Error(`the hook or its tcpdump does not run:\n${gleaner.output}`);
    return { at: performance.now(), hook, tcpdump };
  };
  const before = { sent: farm.sent, started: (await gleaner.status()).counters.started };
  const linesBefore = lines(probe).length;
  const moments = [moment()];
  const replacing = setInterval(() => {
    for (let i = 0; i < churn; i++) void farm.replaceOne();
  }, 1000);
  if (churn === 0) clearInterval(replacing);
  try {
    for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
      await pause(Math.min(10_000, until - performance.now()));
      moments.push(moment());
      const { rss, descriptors } = moments.at(-1)!.hook;
      log(
        `${((moments.at(-1)!.at - moments[0]!.at) / 1000).toFixed(0)} s: ${rss.toFixed(1)} MiB, ${descriptors} files`,
      );
    }
  } finally {
    clearInterval(replacing);
  }
  const late = lines(probe)
    .slice(linesBefore)
    .flatMap((line) => line.split(' ').map(Number));
  // Of both what came between two answers of the hook; each answer lies a second or so after what was sent is counted.
  const sent = farm.sent - before.sent;
  const { counters, host } = await gleaner.status();
  const { lagMicros, started, tapDrops } = counters;
  const seen = started - before.started;
  return { moments, late, lag: lagMicros ?? none, sent, seen, drops: tapDrops, containers: host.containers };
}

const none = { p50: Number.NaN, p99: Number.NaN };
const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis));
const lines = (file: string): string[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');

function rows(measured: Measured, { containers, perSecond, churn }: FootprintOptions): BenchRow[] {
  const { moments, late, lag } = measured;
  const [first, last] = [moments[0]!, moments.at(-1)!];
  const wall = last.at - first.at;
  const hook = ((last.hook.cpuMillis - first.hook.cpuMillis) / wall) * 100;
  const tcpdump = ((last.tcpdump.cpuMillis - first.tcpdump.cpuMillis) / wall) * 100;
  const rss = moments.map((each) => each.hook.rss);
  const result = [
    row('footprint.rss', median(rss), 'MiB', {
      goal: '< 143 (150 MB)',
      note: `hook of ${measured.containers} containers (${containers} made), most ${Math.max(...rss).toFixed(1)}; tcpdump ${last.tcpdump.rss.toFixed(1)}`,
    }),
    row('footprint.cpu', hook + tcpdump, '% of a core', {
      goal: '< 25',
      note: `hook ${hook.toFixed(1)}, tcpdump ${tcpdump.toFixed(1)}, at ${perSecond} activations/s`,
    }),
    row('footprint.loop.p99', quantile(late, 0.99) / 1000, 'ms', {
      goal: '< 5',
      note: `event loop late; p50 ${(quantile(late, 0.5) / 1000).toFixed(2)}, most ${(Math.max(...late) / 1000).toFixed(1)} of ${late.length}`,
    }),
    row('footprint.lag.p99', lag.p99 / 1000, 'ms', { note: 'from the packet to the limit in force' }),
    row('footprint.seen', measured.seen, 'activations', {
      baseline: measured.sent,
      goal: '1x',
      note: 'by the tap, against sent; what is under way at either end is counted on one side',
    }),
    row('footprint.dropped', measured.drops, 'packets', { goal: '0' }),
    row('footprint.files', last.hook.descriptors, 'descriptors', {}),
  ];
  if (moments.length < 8) return result;
  const half = moments.slice(Math.floor(moments.length / 2));
  const [early, end] = [half.slice(0, half.length >> 1), half.slice(half.length >> 1)];
  const growth = median(end.map((each) => each.hook.rss)) - median(early.map((each) => each.hook.rss));
  result.push(
    row('footprint.growth', growth, 'MiB', {
      goal: '0',
      note: `last quarter against the third, ${(wall / 60_000).toFixed(0)} min, ${churn} containers replaced a second`,
    }),
  );
  return result;
}
