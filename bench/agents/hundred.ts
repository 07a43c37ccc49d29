import { type Broker, subjects, wildcards } from '../../broker/index.js';
import { decodeTarget, encodeMessage, LatencyHistogram } from '../../broker/messages/index.js';
import { type Millicores, mebibytes, millicores, SeededRandom } from '../../config/index.js';
import { figuresOf } from '../farm/figures.js';
import { syntheticObservation } from '../observation.js';
import type { Learners } from './learners.js';

/** Largest number of agents in the evaluation of [SIMPPO]. */
export const AGENTS = 110;
/** Each function's control step (`hook.stepS`). */
const STEP_MILLIS = 10_000;
/**
 * Activations in a step: few enough that all share the base policy's weights, as functions called
 * less than once a second do.
 */
const ACTIVATIONS = 5;
const PREFIX = '/bench/';
/** Step from which a second measurement counts. */
const LATER = 1_000_000;

export interface HundredAgentsResult {
  /** CPU of the whole process, threads included, as a share of one core. */
  readonly share: number;
  readonly online: number;
  readonly observations: number;
  readonly targets: number;
  readonly sampled: number;
  readonly updates: number;
}

/**
 * Sends observations of 110 functions at the rate of real steps to the agent host `pid`, which
 * learns and sends targets. Limits follow the targets, so that actions count as executed; latencies
 * and use are random.
 */
export async function hundredAgents(options: {
  readonly broker: Broker;
  readonly learners: Learners;
  readonly pid: number;
  readonly seconds: number;
  /** The agents exist and learn; observations continue after those of the run before. */
  readonly again: boolean;
}): Promise<HundredAgentsResult> {
  const { broker, learners, pid, seconds, again } = options;
  const random = new SeededRandom(again ? 2 : 1);
  const targetCpu = new Map<string, Millicores>();
  let targets = 0;
  const subscription = broker.subscribe(wildcards.targets, ({ data }) => {
    const decoded = decodeTarget(data);
    if (!decoded.ok || !decoded.message.function.startsWith(PREFIX)) return;
    targets++;
    if (decoded.message.cpu !== undefined)
      targetCpu.set(decoded.message.function, decoded.message.cpu);
  });
  const observe = (n: number): void => {
    const fn = `${PREFIX}f${n % AGENTS}`;
    const { granted, ...fixed } = syntheticObservation(
      fn,
      (again ? LATER : 1) + Math.floor(n / AGENTS),
    );
    const cpu = Math.min(1500, Math.max(200, targetCpu.get(fn) ?? 1000)) as Millicores;
    const latency = new LatencyHistogram();
    for (let i = 0; i < ACTIVATIONS; i++) latency.record(50 * (1 + random.next()));
    const used = millicores(100 + 300 * random.next());
    broker.publish(
      subjects.observation(fn),
      encodeMessage({
        ...fixed,
        activations: ACTIVATIONS,
        latency: latency.toMessage(),
        peak: { cpu: 1.2 * used, memory: mebibytes(128) },
        used: { cpu: used, memory: mebibytes(100) },
        granted: { ...granted, cpu: { min: cpu, mean: cpu, max: cpu } },
      }),
    );
  };
  const until = async (at: number): Promise<void> => {
    const wait = at - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  };
  let sent = 0;
  const feed = async (millis: number): Promise<void> => {
    const begun = performance.now();
    for (let i = 0; (i * STEP_MILLIS) / AGENTS < millis; i++) {
      await until(begun + (i * STEP_MILLIS) / AGENTS);
      observe(sent++);
    }
    await until(begun + millis);
  };
  const cpuMillis = (): number => {
    const figures = figuresOf(pid);
    if (figures === null) throw new Error(`the agent host ${pid} has ended`);
    return figures.cpuMillis;
  };
  try {
    // One observation creates an agent; after `retrain` its next decision is sampled.
    if (!again) for (let n = 0; n < AGENTS; n++) observe(sent++);
    await until(performance.now() + 500);
    const online = await learners.retrain();
    const before = {
      cpu: cpuMillis(),
      at: performance.now(),
      sent,
      targets,
      sampled: learners.sampled(PREFIX),
    };
    const updates = learners.updates;
    await feed(seconds * 1000);
    return {
      share: (cpuMillis() - before.cpu) / (performance.now() - before.at),
      online,
      observations: sent - before.sent,
      targets: targets - before.targets,
      sampled: learners.sampled(PREFIX) - before.sampled,
      updates: learners.updates - updates,
    };
  } finally {
    subscription.unsubscribe();
  }
}
