import { simppoSettings } from '../../agents/index.js';
import { arrivalsOf } from '../../cli/index.js';
import {
  type ActivationRecord,
  type Arrival,
  ensureActionImage,
  InvokerDouble,
  planWorkload,
  playWorkload,
  shippedWorkload,
} from '../../simulator/index.js';
import { figuresOf, partsBelow } from '../farm/figures.js';
import { withNats } from '../nats.js';
import { type BenchRow, row } from '../report.js';
import { median, quantile } from '../statistics.js';
import { GleanerProcess } from '../worth/gleaner-process.js';
import { pairedRounds, type Round } from '../worth/paired-runs.js';
import { AGENTS, hundredAgents } from './hundred.js';
import { Learners } from './learners.js';

const PREFIX = 'wskgla0';
/** Allowed above fixed against fixed, of the worst function's p99 slowdown. */
const MARGIN = 0.05;
/** What comes after the rounds, until the weights have been updated: short calls, each a step of its own as `hook.stepS` is 1 s. */
const LESSON = { everyMs: 1100, batchSeconds: 12, batchesMost: 6, payload: { rounds: 2, cpuMs: 20, sleepMs: 20 } };

export interface AgentsBenchOptions {
  /** Recorded minutes of the trace that each run plays, 6 s each. */
  readonly minutes: number;
  readonly rounds: number;
  /** Of the measurement of 110 agents' CPU. */
  readonly seconds: number;
  readonly log: (line: string) => void;
}

/** What an agent's choice brought one call, CPU-ms. */
interface Brought {
  readonly harvested: number;
  readonly accelerated: number;
}

/**
 * SIMPPO agents that were trained in the simulator, on the ten functions of the trace in real containers: fixed, managed and fixed again on the same calls, while
 * they learn on. Then short calls until they have learnt, and what 110 of them cost.
 */
export async function benchAgents({ minutes, rounds: count, seconds, log }: AgentsBenchOptions): Promise<BenchRow[]> {
  const plan = planWorkload(shippedWorkload('azure-ten'));
  const all = arrivalsOf(plan);
  const minuteMs = 60_000 / plan.workload.compression.time;
  const stride = Math.floor(60 / count);
  /** A part of the trace, its own calls. */
  const part = (from: number): Arrival[] =>
    all
      .filter(({ atMs }) => atMs >= from * minuteMs && atMs < (from + minutes) * minuteMs)
      .map((arrival) => ({ ...arrival, atMs: arrival.atMs - from * minuteMs }));
  const image = await ensureActionImage();
  return withNats(async (url, connect) => {
    const invoker = new InvokerDouble({ image, prefix: PREFIX, userMemoryMb: plan.workload.host.userMemoryMiB });
    const gleaner = new GleanerProcess({
      nats: { servers: [url] },
      hook: { containerPrefix: PREFIX, stepS: 1 },
      agents: { manager: 'simppo' },
      // As long as agents believe that a wish is in force: functions of the trace are called every 12 s.
      decision: { policy: { quota: 'target' }, targetStaleMs: simppoSettings.staleMs },
      dashboard: { listen: null },
      metrics: { hook: null, agents: null, aggregator: null },
    });
    const broker = await connect('bench');
    const learners = new Learners(broker);
    const brought = new Map<string, Brought>();
    try {
      await invoker.start();
      await gleaner.start();
      // The minutes behind those of the last round: containers, histories and agents before anything is measured.
      const warm = await playWorkload(invoker, part((count - 1) * stride + minutes));
      log(`${warm.length} calls before; ${await learners.retrain()} agents learn`);
      const rounds = await pairedRounds({
        invoker,
        gleaner,
        rounds: count,
        arrivals: (round) => part(round * stride),
        again: true,
        // Whose function was not called before learns from here on.
        beside: async () => void (await learners.retrain()),
        after: async (on, records) => {
          if (!on) return;
          for (const fn of new Set(records.map(({ action }) => action))) {
            for (const [id, seen] of await learners.explained(fn)) if (seen.enforced) brought.set(id, seen);
          }
          log(`${learners.sampled('/guest/')} steps sampled`);
        },
        log,
      });
      const rows = [
        ...slowdownRows(plan.workload.functions, rounds),
        ...gainRows(rounds, brought),
        ...(await oomRows(gleaner, rounds)),
      ];
      rows.push(...(await learningRows(gleaner, learners, invoker, all, log)));
      const pid = agentHost(gleaner);
      const hundred = await hundredAgents({ broker, learners, pid, seconds });
      rows.push(
        row('agents.hundred.cpu', 100 * hundred.share, '% of a core', {
          goal: '< 5',
          note: `${AGENTS} agents, ${hundred.online} of all learn; ${seconds} s: ${hundred.observations} observations, ${hundred.targets} wishes, ${hundred.sampled} steps sampled, ${hundred.updates} updates`,
        }),
      );
      return rows;
    } finally {
      await gleaner.stop();
      await invoker.stop();
    }
  });
}

/** Each call's duration against the same call's in the run without writes before or after. */
function slowdowns(rounds: readonly Round[], arm: 'on' | 'again', name: string): number[] {
  return rounds.flatMap((round) => {
    const fixed = round.off.get(name) ?? [];
    return (round[arm].get(name) ?? []).map((record, i) => record.runMs / fixed[i]!.runMs);
  });
}

function slowdownRows(
  functions: readonly { readonly name: string; readonly userCpuMillicores: number | null }[],
  rounds: readonly Round[],
): BenchRow[] {
  const figures = functions
    .map(({ name, userCpuMillicores }) => {
      const short = name.slice('/guest/'.length);
      const [on, again] = [slowdowns(rounds, 'on', short), slowdowns(rounds, 'again', short)];
      return { name: short, userCpuMillicores, on, again };
    })
    // In few minutes not every function is called.
    .filter(({ on }) => on.length > 0);
  const worst = (arm: 'on' | 'again') =>
    figures
      .map((each) => ({ name: each.name, p99: quantile(each[arm], 0.99) }))
      .reduce((most, each) => (each.p99 > most.p99 ? each : most));
  const [managed, fixed] = [worst('on'), worst('again')];
  return [
    row('agents.worst.p99', managed.p99, 'x', {
      baseline: fixed.p99,
      goal: `<= ${(fixed.p99 + MARGIN).toFixed(2)}`,
      note: `${managed.name}; fixed against fixed ${fixed.name}`,
    }),
    ...figures.map(({ name, userCpuMillicores, on, again }) =>
      row(`agents.${name}.p99`, quantile(on, 0.99), 'x', {
        baseline: quantile(again, 0.99),
        note: `median ${median(on).toFixed(3)}, fixed against fixed ${median(again).toFixed(3)}; ${on.length} calls; user ${userCpuMillicores} mcores`,
      }),
    ),
  ];
}

const records = (rounds: readonly Round[], arm: keyof Round): ActivationRecord[] =>
  rounds.flatMap((round) => [...round[arm].values()].flat());

function gainRows(rounds: readonly Round[], brought: ReadonlyMap<string, Brought>): BenchRow[] {
  const [on, off, again] = [records(rounds, 'on'), records(rounds, 'off'), records(rounds, 'again')];
  // Both by round, function and order of arrival.
  const fixed = new Map(rounds.flatMap((round) => pairsOf(round)));
  const share = (of: keyof Brought): BenchRow => {
    const calls = on.filter(({ activationId }) => (brought.get(activationId)?.[of] ?? 0) > 0);
    const core = calls.reduce((sum, { activationId }) => sum + brought.get(activationId)![of], 0) / 1000;
    const saved = calls.reduce((sum, call) => sum + fixed.get(call.activationId)! - call.runMs, 0) / 1000;
    return row(`agents.${of}`, (100 * calls.length) / on.length, '% of calls', {
      note: `${calls.length} of ${on.length}, ${core.toFixed(1)} core-s; these took ${saved.toFixed(1)} s less than fixed`,
    });
  };
  const total = (of: readonly ActivationRecord[]): number => of.reduce((sum, { runMs }) => sum + runMs, 0) / 1000;
  return [
    share('harvested'),
    share('accelerated'),
    row('agents.saved', total(off) - total(on), 's', {
      note: `of ${total(off).toFixed(1)} s of durations; fixed against fixed ${(total(off) - total(again)).toFixed(1)} s`,
    }),
    row('agents.explained', on.filter(({ activationId }) => brought.has(activationId)).length, 'calls', {
      baseline: on.length,
      note: 'of which the hook told that limits were enforced',
    }),
  ];
}

/** Duration without writes of each managed call, by its id. */
function pairsOf(round: Round): [string, number][] {
  return [...round.on].flatMap(([name, calls]) =>
    calls.map((call, i): [string, number] => [call.activationId, round.off.get(name)![i]!.runMs]),
  );
}

async function oomRows(gleaner: GleanerProcess, rounds: readonly Round[]): Promise<BenchRow[]> {
  const functions = (await gleaner.command('functions')) as { ooms: { harvest: number; user: number } }[];
  const below = functions.reduce((sum, { ooms }) => sum + ooms.harvest, 0);
  const kills = (arm: keyof Round): number => records(rounds, arm).filter(({ kind }) => kind === 'oom').length;
  const failed = (arm: keyof Round): number => records(rounds, arm).filter(({ ok }) => !ok).length;
  return [
    row('agents.ooms', kills('on'), 'calls', {
      goal: '0 caused',
      note: `fixed ${kills('off')} and ${kills('again')}; the hook saw ${below} below a user limit; failed ${failed('on')}, fixed ${failed('off')} and ${failed('again')}`,
    }),
  ];
}

function agentHost(gleaner: GleanerProcess): number {
  const pid = partsBelow(gleaner.pid).get('agents');
  if (pid === undefined) throw new Error(`no agent host runs:\n${gleaner.output}`);
  return pid;
}

/** Steps of the rounds, and then short calls of the same functions until weights have been updated from them. */
async function learningRows(
  gleaner: GleanerProcess,
  learners: Learners,
  invoker: InvokerDouble,
  all: readonly Arrival[],
  log: (line: string) => void,
): Promise<BenchRow[]> {
  const inRounds = learners.sampled('/guest/');
  const actions = [...new Map(all.map(({ action }) => [action.name, action])).values()];
  const pid = agentHost(gleaner);
  const cpu = (): number => figuresOf(pid)?.cpuMillis ?? Number.NaN;
  const before = { cpu: cpu(), at: performance.now() };
  await gleaner.setWrites(true);
  for (let batch = 0; batch < LESSON.batchesMost && learners.updates === 0; batch++) {
    const { everyMs, batchSeconds, payload } = LESSON;
    const arrivals = actions.flatMap((action, n) =>
      Array.from({ length: Math.floor((1000 * batchSeconds) / everyMs) }, (_, i) => ({
        atMs: (i + n / actions.length) * everyMs,
        action,
        payload,
      })),
    );
    await playWorkload(invoker, arrivals);
    log(`${learners.sampled('/guest/')} steps sampled, ${learners.updates} updates`);
  }
  await gleaner.setWrites(false);
  const share = (cpu() - before.cpu) / (performance.now() - before.at);
  return [
    row('agents.steps', inRounds, 'steps', {
      goal: '> 0',
      note: 'drawn from the policy and learnt from, in the rounds',
    }),
    row('agents.updates', learners.updates, 'updates', {
      goal: '> 0',
      note: `after ${learners.sampled('/guest/')} steps, the further ones of short calls`,
    }),
    row('agents.learning.cpu', 100 * share, '% of a core', {
      note: `the agent host while the short calls ran, ${((performance.now() - before.at) / 1000).toFixed(0)} s`,
    }),
  ];
}
