import type { Broker } from '../../broker/index.js';
import { sum } from '../../experiments/statistics.js';
import { arrivalsOf } from '../../runtime/wiring/index.js';
import {
  type Arrival,
  ensureActionImage,
  InvokerEmulator,
  playWorkload,
} from '../../simulator/invoker-emulator/index.js';
import { azureTen, type Plan, planWorkload } from '../../simulator/workload/index.js';
import { GleanerProcess } from '../benefit/gleaner-process.js';
import { pairedRounds, type Round } from '../benefit/paired-runs.js';
import { PairedTally } from '../benefit/paired-tally.js';
import { withNats } from '../nats.js';
import { atLeast, type BenchRow, row } from '../report.js';
import { Learners } from './learners.js';
import { addRound, keptActivations, type RoundRecord, readRounds } from './records.js';
import { gainRows, oomRows, slowdownRows } from './rounds-rows.js';

const PREFIX = 'wskgla0';
const MINUTES = 60;
/**
 * Gaps between activations are divided by this; the workload's own is 10. Twice the activations in
 * the same time: offered load .20 instead of .17.
 */
const TIME = 12;

/**
 * A round is repeated once if other use of the host differs by more than this share between its
 * runs, whatever their results. Host processes, invoker and Gleaner use .04 to .06.
 */
const MAX_SHARE_SPREAD = 0.05;

export interface AgentsBenchOptions {
  /** Rounds that the recorded hour is divided into. */
  readonly rounds: number;
  /** Of these, the first that is played, from 1, and how many. */
  readonly first: number;
  readonly play: number;
  /** Recorded minutes per round; absent: an equal share of the hour. */
  readonly minutes: number | undefined;
  /** File of rounds; all rounds in it are pooled. */
  readonly records: string | undefined;
  readonly log: (line: string) => void;
}

/** Parts of a bench of agents on real containers. */
export interface Stage {
  readonly plan: Plan;
  readonly invoker: InvokerEmulator;
  readonly gleaner: GleanerProcess;
  readonly broker: Broker;
  readonly learners: Learners;
}

/**
 * A whole Gleaner with SIMPPO agents over NATS, beside an invoker with the ten functions of the
 * trace.
 */
export async function withAgents<T>(run: (stage: Stage) => Promise<T>): Promise<T> {
  const plan = planWorkload({ ...azureTen(), compression: compressed(TIME) });
  const image = await ensureActionImage();
  return withNats(async (url, connect) => {
    const invoker = new InvokerEmulator({
      image,
      prefix: PREFIX,
      userMemoryMb: plan.workload.host.userMemoryMiB,
    });
    const gleaner = new GleanerProcess({
      nats: { servers: [url] },
      hook: { containerPrefix: PREFIX, stepS: 1 },
      agents: { manager: 'simppo' },
      // The trace activates some functions only every 10 s, and a step needs several activations.
      decision: { policy: { quota: 'target' }, targetStaleMs: 60_000 },
      dashboard: { listen: null },
      metrics: { hook: null, agents: null, aggregator: null },
    });
    const broker = await connect('bench');
    const learners = new Learners(broker);
    try {
      await invoker.start();
      await gleaner.start();
      return await run({ plan, invoker, gleaner, broker, learners });
    } finally {
      await gleaner.stop();
      await invoker.stop();
    }
  });
}

const compressed = (time: number) => ({ ...azureTen().compression, time });

/** Activations of `minutes` recorded minutes from `from` on, from 0 ms on. */
export function partOf(plan: Plan, from: number, minutes: number): Arrival[] {
  const minuteMs = 60_000 / plan.workload.compression.time;
  return arrivalsOf(plan)
    .filter(({ atMs }) => atMs >= from * minuteMs && atMs < (from + minutes) * minuteMs)
    .map((arrival) => ({ ...arrival, atMs: arrival.atMs - from * minuteMs }));
}

/**
 * SIMPPO agents, trained in the simulator, manage the ten functions of the trace in real containers
 * and keep learning: fixed, managed and fixed again on the same activations, in every order.
 */
export async function benchAgents(options: AgentsBenchOptions): Promise<BenchRow[]> {
  const { rounds: count, first, play, records, log } = options;
  const stride = MINUTES / count;
  const minutes = options.minutes ?? stride;
  let kept = readRounds(records);
  return withAgents(async ({ plan, invoker, gleaner, learners }) => {
    const part = (round: number): Arrival[] => partOf(plan, (round % count) * stride, minutes);
    // Warm-up: containers, histories and agents.
    const warm = await playWorkload(invoker, part(first - 1 + count - 1));
    log(`${warm.length} activations before; ${await learners.retrain()} agents learn`);
    let before = { killed: 0, sampled: 0 };
    const playRound = async (number: number, again: boolean): Promise<RoundRecord> => {
      const tally = new PairedTally();
      const brought: RoundRecord['brought'] = {};
      const shares: number[] = [];
      const [round] = await pairedRounds({
        invoker,
        gleaner,
        rounds: 1,
        first: number,
        arrivals: part,
        again: true,
        tally,
        // Agents of functions without earlier activations begin to learn here.
        beside: async () => void (await learners.retrain()),
        after: async (arm, activations, share) => {
          shares.push(share);
          if (arm !== 'on') return;
          for (const fn of new Set(activations.map(({ action }) => action)))
            for (const [id, seen] of await learners.explained(fn))
              if (seen.enforced) brought[id] = improvementOf(seen);
        },
        log,
      });
      const others = Math.max(...shares);
      const shareSpread = others - Math.min(...shares);
      if (shareSpread > MAX_SHARE_SPREAD && !again) {
        log(
          `other use of the host differs by ${(100 * shareSpread).toFixed(0)} % of it: ` +
            `round ${number + 1} again`,
        );
        return playRound(number, true);
      }
      const now = { killed: await killedBelow(gleaner), sampled: learners.sampled('/guest/') };
      log(`${now.sampled} steps sampled`);
      const record = {
        round: number,
        arms: armsOf(round!),
        brought,
        killedBelow: now.killed - before.killed,
        sampledSteps: now.sampled - before.sampled,
        runs: tally.runs,
        others,
        again,
      };
      before = now;
      return record;
    };
    for (let number = first - 1; number < Math.min(count, first - 1 + play); number++)
      kept = addRound(records, kept, await playRound(number, false));
    return [
      ...slowdownRows(plan.workload.functions, kept),
      ...gainRows(kept),
      ...oomRows(kept),
      atLeast(
        'agents.steps',
        sum(kept.map(({ sampledSteps }) => sampledSteps)),
        1,
        'steps',
        'the agents did not learn on',
      ),
      ...new PairedTally(kept.flatMap(({ runs }) => runs)).rows('agents'),
      row('agents.others', 100 * Math.max(...kept.map(({ others }) => others)), '% of the host', {
        note:
          'highest use by others and Gleaner in a run; ' +
          `${kept.filter(({ again }) => again).length} of ${kept.length} rounds were repeated ` +
          'since their runs differed in it',
      }),
    ];
  });
}

type Explained =
  Awaited<ReturnType<Learners['explained']>> extends Map<string, infer View> ? View : never;

/** The fields of an explanation that the figures need. */
function improvementOf({ harvested, accelerated, cpu, trippedCpu, targetCpu, control }: Explained) {
  const how = [
    control ? 'control' : `${cpu.rangeReason}/${cpu.choice}`,
    `${cpu.lower?.toFixed(0)}..${cpu.upper?.toFixed(0)} of ${cpu.user}`,
    `granted ${cpu.granted?.toFixed(0)}, peak ${cpu.peak?.toFixed(0)}, ` +
      `target ${targetCpu?.toFixed(0) ?? '-'}`,
    ...(trippedCpu ? ['tripped'] : []),
  ];
  return { harvested, accelerated, how: how.join('; ') };
}

const armsOf = (round: Round): RoundRecord['arms'] => ({
  off: keptActivations(round, 'off'),
  on: keptActivations(round, 'on'),
  again: keptActivations(round, 'again'),
});

async function killedBelow(gleaner: GleanerProcess): Promise<number> {
  const functions = (await gleaner.command('functions')) as {
    ooms: { harvest: number; user: number };
  }[];
  return functions.reduce((sum, { ooms }) => sum + ooms.harvest, 0);
}
