import { SeededRandom } from '../../config/index.js';
import { Cluster } from './cluster.js';
import { PublishedFaasrm, type PublishedLearner } from './faasrm.js';
import { FunctionHistory } from './function-history.js';
import { type PublishedManagerName, publishedManager } from './managers.js';
import { Request } from './request.js';
import { type Allocation, durationOf, peakOf, RULES } from './rules.js';
import type { PublishedSample } from './sample.js';

/** One ended invocation compared with the user's allocation. */
export interface PublishedOutcome {
  readonly order: number;
  readonly fn: number;
  readonly success: boolean;
  /** Ticks, without a cold start and with time in a queue. */
  readonly ticks: number;
  /** Relative function execution time: `ticks` against those at the user's allocation. */
  readonly rfet: number;
  readonly allocation: Allocation;
  readonly user: Allocation;
}

/** The manager: one of the rules by name, or the learned policy. */
export interface PublishedRun {
  readonly manager: PublishedManagerName | PublishedLearner;
  readonly seed: number;
}

/**
 * Plays a sample by the published rules, oddities included: the clock ticks with every event, a
 * decision takes effect one invocation late, the last event is never submitted. [Freyr-sim]
 */
export function playPublished(
  sample: PublishedSample,
  { manager, seed }: PublishedRun,
): PublishedOutcome[] {
  const random = new SeededRandom(seed);
  const histories = sample.functions.map((fn) => new FunctionHistory(fn));
  const outcomes: PublishedOutcome[] = [];
  const cluster = new Cluster(random.fork('overloaded'), (request) => {
    histories[request.fn.index]!.add(request);
    learned?.ended(request, peakOf(request.fn, request.allocation));
    outcomes.push(outcomeOf(request));
  });
  const policy = random.fork('policy');
  const learned =
    typeof manager === 'string' ? null : new PublishedFaasrm(manager, () => cluster, policy);
  const decide = typeof manager === 'string' ? publishedManager(manager, policy) : learned!.decide;
  const last = sample.activations.length - 1;
  for (let event = 0; event < last; event++) {
    const history = histories[sample.activations[event]!]!;
    // The decision sees the state after the previous event; the seconds between pass afterwards.
    // There is no decision before the first event.
    const next = event === 0 ? null : decide(history, cluster.freeCpu);
    while (cluster.second < sample.seconds[event]!) cluster.advance();
    cluster.place(new Request(event, history.fn, history.allocation));
    if (next !== null) history.allocation = next;
    cluster.step();
  }
  while (cluster.second < RULES.seconds || !cluster.isIdle) cluster.advance();
  return outcomes;
}

function outcomeOf(request: Request): PublishedOutcome {
  const { order, fn, outcome, progress, allocation } = request;
  return {
    order,
    fn: fn.index,
    success: outcome === 'success',
    ticks: progress,
    rfet: progress / durationOf(fn, fn.user),
    allocation,
    user: fn.user,
  };
}
