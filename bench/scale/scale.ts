import { withNats } from '../nats.js';
import type { BenchRow } from '../report.js';
import { benchHandOver } from './hand-over.js';
import { benchDecisionLatency } from './latency.js';
import { benchSums } from './sums.js';

export interface ScaleOptions {
  /** Of the latency's measurement. */
  readonly seconds: number;
  readonly log: (line: string) => void;
}

/** Costs of a large cluster: sums, hand-over and latency, the last two on a real nats-server. */
export async function benchScale({ seconds, log }: ScaleOptions): Promise<BenchRow[]> {
  log('sums of 100,000 agents');
  const rows = benchSums();
  return withNats(async (_, connect) => {
    log(`a decision's way to its limit, ${seconds} s`);
    rows.push(...(await benchDecisionLatency(connect, seconds)));
    log('hand-over of 1000 functions');
    rows.push(...(await benchHandOver(connect)));
    return rows;
  });
}
