import { type Action, type ActivationResult, ensureActionImage, InvokerDouble } from '../../simulator/index.js';
import { type BenchRow, row } from '../report.js';
import { mean, quantile } from '../statistics.js';

/** Our own writing of what Knative's `autoscale-go` does: hold `bloatMb`, look for primes up to `prime`, sleep. */
const CODE = `function main({ bloatMb, prime, sleepMs }) {
  const held = Buffer.alloc(bloatMb * 1048576, 1);
  let last = 2;
  for (let n = 3; n <= prime; n++) {
    let divisor = 2;
    while (divisor * divisor <= n && n % divisor !== 0) divisor++;
    if (divisor * divisor > n) last = n;
  }
  return new Promise((resolve) => setTimeout(() => resolve({ last, held: held.length }), sleepMs));
}`;

const MEMORY_MB = 512;

/** Mostly waiting, and mostly memory: the two classes whose best limits differ (simppo-aware.md §5.2). */
const PROFILES = {
  sleep: { bloatMb: 0, prime: 500, sleepMs: 50 },
  memory: { bloatMb: 2, prime: 500, sleepMs: 50 },
} as const;

/** More than the highest limit, so that each limit is filled. */
const CLIENTS = 320;
const LIMITS = [10, 30, 50, 70, 90, 130, 190, 250, 310];

export interface SweepOptions {
  readonly limits?: readonly number[];
  /** ms that count, after as many that do not. */
  readonly windowMs?: number;
  readonly log: (line: string) => void;
}

interface Call {
  readonly ms: number;
  readonly ok: boolean;
}

/** Throughput, latency and success at each limit: one container, as many callers as always fill it, each calling again when answered. */
export async function benchConcurrency({ limits = LIMITS, windowMs = 2500, log }: SweepOptions): Promise<BenchRow[]> {
  const image = await ensureActionImage();
  const double = new InvokerDouble({
    image,
    prefix: 'wskglcc0',
    userMemoryMb: MEMORY_MB,
    pauseGraceMs: 600_000,
    logs: 'none',
  });
  const rows: BenchRow[] = [];
  try {
    await double.start();
    for (const [profile, payload] of Object.entries(PROFILES))
      for (const limit of limits) {
        const action: Action = {
          namespace: 'guest',
          name: profile,
          version: `0.0.${limit}`,
          code: CODE,
          memoryMb: MEMORY_MB,
          concurrency: limit,
        };
        const calls = await measure(() => double.invoke(action, payload), windowMs);
        const latencies = calls.filter(({ ok }) => ok).map(({ ms }) => ms);
        const name = `concurrency.${profile}.${limit}`;
        const throughput = (1000 * latencies.length) / windowMs;
        const success = latencies.length / calls.length;
        rows.push(
          row(`${name}.throughput`, throughput, '/s'),
          row(`${name}.mean`, mean(latencies), 'ms'),
          row(`${name}.p95`, quantile(latencies, 0.95), 'ms'),
          row(`${name}.success`, 100 * success, '%'),
        );
        log(`${name}: ${throughput.toFixed(0)}/s, ${mean(latencies).toFixed(0)} ms, ${(100 * success).toFixed(1)} %`);
      }
  } finally {
    await double.stop();
  }
  return rows;
}

/** The calls that were answered within the window. */
async function measure(invoke: () => Promise<ActivationResult>, windowMs: number): Promise<Call[]> {
  // One call first: cold starts of many would fill the pool's queue.
  await invoke();
  const from = performance.now() + windowMs;
  const to = from + windowMs;
  const calls: Call[] = [];
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (performance.now() < to) {
        const started = performance.now();
        const { ok } = await invoke();
        const ended = performance.now();
        if (ended >= from && ended < to) calls.push({ ms: ended - started, ok });
      }
    }),
  );
  return calls;
}
