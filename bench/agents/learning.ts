import type { Action } from '../../simulator/invoker-emulator/index.js';
import { playWorkload } from '../../simulator/invoker-emulator/index.js';
import type { GleanerProcess } from '../benefit/gleaner-process.js';
import { figuresOf, partsBelow } from '../farm/figures.js';
import { atLeast, type BenchRow, row } from '../report.js';
import { partOf, type Stage, withAgents } from './agents.js';
import { AGENTS, hundredAgents } from './hundred.js';

/**
 * Short activations, each a step of its own as `hook.stepS` is 1 s, less often than once a second:
 * functions share the base policy.
 */
const TRAINING = {
  everyMs: 1100,
  batchSeconds: 12,
  maxSeconds: 420,
  payload: { rounds: 2, cpuMs: 20, sleepMs: 20 },
};
/** Seconds from the start of learning to the measurement. */
const SETTLED = 60;

/** Agents learn from activations of real containers until their first update; CPU of 110 agents. */
export async function benchLearning(options: {
  /** Of each measurement of CPU. */
  readonly seconds: number;
  readonly log: (line: string) => void;
}): Promise<BenchRow[]> {
  const { seconds, log } = options;
  return withAgents(async (stage) => {
    const rows = await experienceRows(stage, log);
    const { broker, learners } = stage;
    const pid = agentHost(stage.gleaner);
    const hundred = (span: number, again: boolean) =>
      hundredAgents({ broker, learners, pid, seconds: span, again });
    const young = await hundred(SETTLED, false);
    const settled = await hundred(seconds, true);
    const says = (of: Awaited<typeof settled>, span: number): string =>
      `${span} s: ${of.observations} observations, ${of.targets} targets, ` +
      `${of.sampled} steps sampled, ${of.updates} updates`;
    return [
      ...rows,
      row('agents.hundred.cpu', 100 * settled.share, '% of a core', {
        goal: '< 5',
        note:
          `${AGENTS} agents, all ${settled.online} learn, measured from ${SETTLED} s on; ` +
          says(settled, seconds),
      }),
      row('agents.hundred.young', 100 * young.share, '% of a core', {
        note: `the ${SETTLED} s before; ${says(young, SETTLED)}`,
      }),
    ];
  });
}

function agentHost(gleaner: GleanerProcess): number {
  const pid = partsBelow(gleaner.pid).get('agents');
  if (pid === undefined) throw new Error(`no agent host runs:\n${gleaner.output}`);
  return pid;
}

/** Short activations of the trace's functions until the first update of weights. */
async function experienceRows(
  { plan, gleaner, learners, invoker }: Stage,
  log: (line: string) => void,
): Promise<BenchRow[]> {
  const all = partOf(plan, 0, 60);
  const actions: Action[] = [...new Map(all.map(({ action }) => [action.name, action])).values()];
  const { everyMs, batchSeconds, maxSeconds, payload } = TRAINING;
  const batch = (): Promise<unknown> =>
    playWorkload(
      invoker,
      actions.flatMap((action, n) =>
        Array.from({ length: Math.floor((1000 * batchSeconds) / everyMs) }, (_, i) => ({
          atMs: (i + n / actions.length) * everyMs,
          action,
          payload,
        })),
      ),
    );
  await gleaner.setWrites(true);
  await batch();
  log(`${await learners.retrain()} agents learn`);
  const pid = agentHost(gleaner);
  const cpu = (): number => figuresOf(pid)?.cpuMillis ?? Number.NaN;
  const begun = { cpu: cpu(), at: performance.now() };
  const seconds = (): number => (performance.now() - begun.at) / 1000;
  while (learners.updates === 0 && seconds() < maxSeconds) {
    await batch();
    log(
      `${seconds().toFixed(0)} s: ${learners.sampled('/guest/')} steps sampled, ` +
        `${learners.updates} updates`,
    );
  }
  const took = seconds();
  const share = (cpu() - begun.cpu) / (1000 * took);
  await gleaner.setWrites(false);
  return [
    atLeast(
      'agents.updates',
      learners.updates,
      1,
      'updates',
      'no weights changed: the CPU is that of agents that do not learn',
    ),
    row('agents.experiences', learners.sampled('/guest/'), 'steps', {
      note: `until the first update; ${actions.length} functions, ${took.toFixed(0)} s`,
    }),
    row('agents.learning.cpu', 100 * share, '% of a core', { note: 'the agent host meanwhile' }),
  ];
}
