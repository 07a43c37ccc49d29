import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Broker, launchNatsServer, NatsBroker } from '../../broker/index.js';
import type { BenchRow } from '../report.js';
import { benchHandOver } from './hand-over.js';
import { benchDecisionLatency } from './latency.js';
import { benchSums } from './sums.js';

export interface ScaleOptions {
  /** Of the latency's measurement. */
  readonly seconds: number;
  readonly log: (line: string) => void;
}

/** What a large cluster costs: sums, hand-over, and the way of a decision; the last two on a real nats-server of its own. */
export async function benchScale({ seconds, log }: ScaleOptions): Promise<BenchRow[]> {
  log('sums of 100,000 agents');
  const rows = benchSums();
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-bench-nats-'));
  const server = await launchNatsServer({ binary: 'nats-server', storeDirectory: folder });
  const brokers: Broker[] = [];
  const connect = async (name: string): Promise<Broker> => {
    const broker = new NatsBroker({ servers: [server.url], name });
    brokers.push(broker);
    while (!broker.connected) await new Promise((resolve) => setTimeout(resolve, 5));
    return broker;
  };
  try {
    log(`a decision's way to its limit, ${seconds} s`);
    rows.push(...(await benchDecisionLatency(connect, seconds)));
    log('hand-over of 1000 functions');
    rows.push(...(await benchHandOver(connect)));
    return rows;
  } finally {
    await Promise.all(brokers.map((broker) => broker.close()));
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
