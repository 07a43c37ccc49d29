import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GleanerProcess } from '../../bench/benefit/gleaner-process.js';
import { Farm } from '../../bench/farm/farm.js';
import { partsBelow } from '../../bench/farm/figures.js';
import { type Growth, growthOf } from '../../bench/growth.js';
import { SeededRandom } from '../../config/index.js';
import { freePort } from '../support/free-port.js';
import { ProcessSampler } from './process-sampler.js';

const PROBE = fileURLToPath(new URL('../../bench/farm/heap-probe.js', import.meta.url));
const CONTAINERS = 60;
const FUNCTIONS = 30;
const PER_SECOND = 20;
/** What a day brings; an hour of the soak brings as much, a shorter run its share. */
const A_DAY = {
  containers: 3600,
  functions: 60,
  reconnects: 24,
  engineBreaks: 24,
  dashboardVisits: 96,
};
const DAY_MINUTES = 60;

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly manager: string;
  readonly log: (line: string) => void;
}

export interface SoakResult {
  readonly growth: readonly Growth[];
  /** Parts that restarted without having been killed. */
  readonly restarted: readonly string[];
  readonly sent: number;
  readonly failed: number;
  readonly delayed: number;
  readonly samples: number;
}

/**
 * A whole Gleaner beside a farm whose containers and functions come and go, whose NATS server and
 * Engine break off and whose dashboard is visited, at many times the pace of a day; steps, tests of
 * retraining and rotation are as much faster.
 */
export async function soak({ minutes, seed, manager, log }: SoakOptions): Promise<SoakResult> {
  const random = new SeededRandom(seed);
  const probes = mkdtempSync(join(tmpdir(), 'gleaner-soak-'));
  const farm = new Farm({
    functions: FUNCTIONS,
    containers: CONTAINERS,
    random: random.fork('farm'),
  });
  const over = new AbortController();
  const cancels: (() => void)[] = [];
  let gleaner: GleanerProcess | null = null;
  let sampler: ProcessSampler | null = null;
  let load: ReturnType<Farm['load']> | null = null;
  try {
    await farm.start();
    const port = await freePort();
    // A short run has 12 looks, for the collections before them take the CPU of a whole core.
    const sampleMillis = Math.min(20_000, minutes * 5000);
    gleaner = new GleanerProcess(settings(farm, port, manager), {
      NODE_OPTIONS: `--import ${PROBE}`,
      GLEANER_HEAP_PROBE: probes,
      GLEANER_HEAP_PROBE_MILLIS: String(sampleMillis),
    });
    await gleaner.start();
    sampler = new ProcessSampler(gleaner.folder, probes, gleaner.pid);
    load = farm.load(PER_SECOND, () => 50 + 400 * random.next(), over.signal);
    const up = gleaner.pid;
    const schedule = (timesPerDay: number, what: () => void): void => {
      const timer = setInterval(what, (DAY_MINUTES * 60_000) / timesPerDay);
      cancels.push(() => clearInterval(timer));
    };
    schedule(A_DAY.containers, () => void farm.replaceOne().catch((error) => log(String(error))));
    schedule(A_DAY.functions, () => farm.renameFunctions());
    schedule(A_DAY.reconnects, () => end(partsBelow(up).get('nats-server')));
    schedule(A_DAY.engineBreaks, () => farm.engine.dropStreams());
    schedule(A_DAY.dashboardVisits, () => void visit(port));
    const until = performance.now() + minutes * 60_000;
    let samples = 0;
    while (performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, sampleMillis));
      await sampler.sample();
      if (++samples % 15 === 0) log(`${samples} looks, ${farm.sent} activations`);
    }
    over.abort();
    const { sent, failed, delayed } = await load;
    return {
      growth: sampler.series.map(growthOf),
      restarted: sampler.restarted,
      sent,
      failed,
      delayed,
      samples,
    };
  } finally {
    over.abort();
    for (const cancel of cancels) cancel();
    await load?.catch(() => undefined);
    await sampler?.close();
    await gleaner?.stop();
    await farm.stop();
    rmSync(probes, { recursive: true, force: true });
  }
}

function settings(farm: Farm, port: number, manager: string): Record<string, unknown> {
  return {
    mode: 'enforce',
    hook: {
      ...farm.hookSettings,
      stepActivations: 5,
      stepS: 1,
      auditRotateMiB: 1,
    },
    // Smaller than the functions that come in a day, so that what is forgotten is forgotten
    // everywhere.
    decision: { maxFunctions: 100, targetStaleMs: 5000, peakHalfLifeS: 60 },
    // A function lives for a minute or so here; of one that is gone nothing is kept.
    agents: {
      manager,
      intervalMs: 1000,
      resident: 40,
      registry: { forgetAfterS: 120 },
    },
    aggregator: { intervalMs: 1000 },
    dashboard: { listen: `127.0.0.1:${port}` },
    metrics: { hook: null, agents: null, aggregator: null },
  };
}

/** nats-server is started again by `gleaner up` within a second or so. */
function end(pid: number | undefined): void {
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
}

/** A page that follows the stream for a few seconds and leaves. */
async function visit(port: number): Promise<void> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/api/stream`, {
      signal: AbortSignal.timeout(5000),
    });
    for await (const _ of response.body ?? []) {
      // Read as a page does.
    }
  } catch {
    // Left.
  }
}
