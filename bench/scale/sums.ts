import { Aggregator, type Contribution, LeaveOneOut } from '../../broker/mean-field/index.js';
import {
  decodeAgentsPartial,
  decodeMeanField,
  encodeMessage,
} from '../../broker/messages/index.js';
import {
  type Bytes,
  type Millicores,
  type Millis,
  type Random,
  SeededRandom,
} from '../../config/index.js';
import { type BenchRow, row } from '../report.js';

const HOSTS = 50;
const FEATURES = 6;
const INTERVAL = 1000 as Millis;

const contribution = (random: Random): Contribution => ({
  state: Array.from({ length: FEATURES }, () => random.next()),
  actions: [random.below(3) - 1, random.below(3) - 1, random.below(3) - 1],
  allocated: {
    cpu: (2000 * random.next()) as Millicores,
    memory: (1e9 * random.next()) as Bytes,
    containers: 2,
  },
  demand: { cpu: (2000 * random.next()) as Millicores, memory: (1e9 * random.next()) as Bytes },
});

interface StepCost {
  readonly millis: number;
  readonly messages: number;
  readonly bytes: number;
}

/**
 * One mean-field step of all agent hosts and the aggregator, on this one core: sums, messages as
 * they are sent, read and checked.
 */
function measure(agents: number, steps: number): StepCost {
  const random = new SeededRandom(1);
  const hosts = Array.from({ length: HOSTS }, (_, i) => ({
    host: `agents-${i}`,
    boot: `boot-${i}`,
    record: new LeaveOneOut(`agents-${i}`, `boot-${i}`),
    contributions: new Map(
      Array.from(
        { length: agents / HOSTS },
        (_, n) => [`/guest/f${i}-${n}`, contribution(random)] as const,
      ),
    ),
  }));
  const aggregator = new Aggregator({ host: 'aggregator', boot: 'boot-agg', step: INTERVAL });
  let messages = 0;
  let bytes = 0;
  let best = Number.POSITIVE_INFINITY;
  for (let step = 1; step <= steps; step++) {
    messages = 0;
    bytes = 0;
    const now = (step * 1000) as Millis;
    const begun = performance.now();
    for (const { host, boot, record, contributions } of hosts) {
      const sums = record.record(step, contributions);
      const data = encodeMessage({ v: 1, host, boot, sequence: step, interval: INTERVAL, sums });
      messages++;
      bytes += data.byteLength;
      const decoded = decodeAgentsPartial(data);
      if (!decoded.ok || aggregator.takePartial(decoded.message, now) !== null)
        throw new Error('a batch was refused');
    }
    const data = encodeMessage(aggregator.step(now, 1));
    messages++;
    bytes += data.byteLength;
    for (const { record, contributions } of hosts) {
      const field = decodeMeanField(data);
      if (!field.ok || field.message.totals.members !== agents)
        throw new Error('the sums are not whole');
      // Each host takes one of its own out, as it does when an agent decides.
      if (record.others(field.message, contributions.keys().next().value!)?.members !== agents - 1)
        throw new Error('one was not left out');
    }
    best = Math.min(best, performance.now() - begun);
  }
  return { millis: best, messages, bytes };
}

/**
 * 100,000 agents on 50 hosts, against 1000 agents on as many: what one step costs and what is sent.
 */
export function benchSums(steps = 15): BenchRow[] {
  const few = measure(1000, steps);
  const many = measure(100_000, steps);
  return [
    row('scale.step_cpu', many.millis, 'ms', {
      baseline: few.millis,
      goal: '< 1000',
      note: '100,000 agents, 50 hosts and the aggregator on one core; baseline: 1000 agents',
    }),
    row('scale.messages', many.messages, 'per step', { baseline: few.messages, goal: 'ratio 1' }),
    row('scale.bytes', many.bytes, 'per step', {
      baseline: few.bytes,
      goal: 'ratio about 1',
      note: 'more digits in larger sums',
    }),
  ];
}
