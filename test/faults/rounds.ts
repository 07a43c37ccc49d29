import { aligned } from '../../bench/report.js';
import { median } from '../../experiments/statistics.js';
import { allowed } from '../support/slowness.js';
import { until } from './cgroups.js';
import { isAlive, PARTS, type Part, pidsOf } from './processes.js';
import type { Rig } from './rig.js';

/** What the rounds of one part add up to. Durations in ms. */
export interface PartResult {
  readonly part: Part;
  rounds: number;
  activations: number;
  readonly failed: string[];
  /** Of the activations in flight at the kill, and of the same ones with writes off. */
  readonly durations: number[];
  readonly baseline: number[];
  /**
   * From the kill until every limit was the user's in flight (hook, tcpdump), or until a batch
   * began at user limits (agents, NATS): one batch after the other, so up to a batch late.
   */
  readonly restores: number[];
  /** From the kill (or the end of the outage) until limits are lowered again. */
  readonly resumes: number[];
  readonly problems: string[];
}

export interface RoundOptions {
  readonly rounds: number;
  readonly parts: readonly Part[];
  readonly staleMillis: number;
  readonly log: (line: string) => void;
}

/**
 * Maximum time from the end of a hook or its tap until user limits are restored, ms. tcpdump's end
 * is noticed at once. After the hook's end `gleaner up` asks Docker about its host, the list and
 * each container, 0.1 s on a quiet machine; no period or retry adds to it.
 */
export const RESTORE_BOUND = allowed(1000);
/**
 * The last target was sent before the kill, and its age counts from when the hook reads it. A batch
 * that begins later than `decision.targetStaleMs` and this has user limits.
 */
export const STALE_SLACK = allowed(1000);

/**
 * Against the baselines of all parts, which are alike: calls with writes off and nothing killed.
 */
export const ratioOf = (result: PartResult, all: readonly PartResult[]): number =>
  median(result.durations) / median(all.flatMap(({ baseline }) => baseline));

/**
 * Kills each part in turn, so that a part has lived for a while when its turn comes again (a part
 * that dies young waits longer for its restart, as it should). Every third round of agents,
 * aggregator and NATS holds the supervisor: the part stays away.
 */
export async function playRounds(rig: Rig, options: RoundOptions): Promise<PartResult[]> {
  const results = PARTS.filter((part) => options.parts.includes(part)).map(
    (part): PartResult => ({
      part,
      rounds: 0,
      activations: 0,
      failed: [],
      durations: [],
      baseline: [],
      restores: [],
      resumes: [],
      problems: [],
    }),
  );
  await rig.untilLowered(30_000);
  for (let round = 0; round < options.rounds; round++) {
    for (const result of results) {
      await playRound(rig, result, round % 3 === 0, options);
      const recent = (durations: readonly number[]): string =>
        median(durations.slice(-20)).toFixed(0);
      options.log(
        `round ${round + 1}, ${result.part}: ` +
          `${result.failed.length} failed of ${result.activations}, ` +
          `${recent(result.durations)} ms against ${recent(result.baseline)} ms, ` +
          `restored after ${result.restores.at(-1)?.toFixed(0) ?? '-'} ms, ` +
          `decisions again after ${result.resumes.at(-1)?.toFixed(0)} ms` +
          result.problems.map((problem) => `; ${problem}`).join(''),
      );
    }
  }
  return results;
}

async function playRound(
  rig: Rig,
  result: PartResult,
  third: boolean,
  options: RoundOptions,
): Promise<void> {
  const { part } = result;
  const up = rig.gleaner.pid;
  const direct = part === 'hook' || part === 'tcpdump';
  const held = third && !direct;
  await rig.setWrites(false);
  note(result, await rig.batch(), result.baseline);
  await rig.setWrites(true);
  await rig.untilLowered(30_000);

  const { calls } = await inFlight(rig, result);
  const before = pidsOf(part, up);
  if (before.length === 0) throw new Error(`${part} does not run:\n${rig.gleaner.output}`);
  // With the supervisor stopped the part stays away until it is let go on.
  if (held) process.kill(up, 'SIGSTOP');
  let killedAt = performance.now();
  for (const pid of before) process.kill(pid, 'SIGKILL');
  try {
    if (direct) {
      await until('user limits', 10_000, () => rig.lowered === 0, 2);
      result.restores.push(performance.now() - killedAt);
      const containersBelowUserLimits = rig.containersBelowUserLimits();
      if (part === 'hook' && containersBelowUserLimits.length > 0)
        result.problems.push(`not the user's: ${containersBelowUserLimits.join(', ')}`);
    }
    note(result, await calls, result.durations);
    if (held) await outage(rig, result, killedAt, options.staleMillis);
  } finally {
    if (held) {
      process.kill(up, 'SIGCONT');
      killedAt = performance.now();
    }
  }
  await until(`${part} again`, 20_000, () => pidsOf(part, up).length > 0, 50);
  if (part === 'hook') await adopted(rig, result);
  await rig.untilLowered(30_000);
  result.resumes.push(performance.now() - killedAt);
  for (const pid of before) if (isAlive(pid)) result.problems.push(`process ${pid} has survived`);
  result.rounds++;
}

/**
 * Activations under way with lowered limits. A start that reaches the hook late sets none: then
 * they are begun once more.
 */
async function inFlight(
  rig: Rig,
  result: PartResult,
): Promise<{ calls: ReturnType<Rig['batch']> }> {
  for (let attempt = 0; ; attempt++) {
    const calls = rig.batch();
    try {
      await until('lowered limits in flight', 500, () => rig.lowered >= rig.enough);
      return { calls };
    } catch (error) {
      note(result, await calls, []);
      if (attempt === 4) throw error;
    }
  }
}

/**
 * While the part is away: without targets new activations get user limits; without an aggregator
 * nothing changes.
 */
async function outage(
  rig: Rig,
  result: PartResult,
  killedAt: number,
  staleMillis: number,
): Promise<void> {
  for (;;) {
    const beganAt = performance.now();
    const { result: activations, most } = await rig.lowestQuota(rig.batch());
    result.activations += activations.length;
    result.failed.push(...activations.filter(({ ok }) => !ok).map(({ kind }) => kind));
    const away = beganAt - killedAt;
    if (result.part === 'aggregator') {
      if (most < rig.enough)
        result.problems.push(`only ${most} limits are lowered without the aggregator`);
      if (away > staleMillis) return;
    } else if (most === 0) {
      result.restores.push(away);
      return;
    } else if (away > staleMillis + STALE_SLACK) {
      result.problems.push(`${most} limits lowered in a batch begun ${away.toFixed(0)} ms after`);
      return;
    }
  }
}

/**
 * The new hook knows every container, and each has its user's limits until decisions begin again.
 */
async function adopted(rig: Rig, result: PartResult): Promise<void> {
  const { containers } = await rig.inspect();
  const known = new Set(containers.map(({ id }) => id));
  const missing = rig.containers.filter(({ id }) => !known.has(id));
  if (missing.length > 0)
    result.problems.push(`${missing.length} containers are unknown to the new hook`);
  const containersBelowUserLimits = rig.containersBelowUserLimits();
  if (containersBelowUserLimits.length > 0)
    result.problems.push(
      `not the user's after the restart: ${containersBelowUserLimits.join(', ')}`,
    );
}

function note(
  result: PartResult,
  activations: Awaited<ReturnType<Rig['batch']>>,
  durations: number[],
): void {
  result.activations += activations.length;
  for (const { ok, kind, runMs } of activations) {
    if (ok) durations.push(runMs);
    else result.failed.push(kind);
  }
}

/** A line per part, for people. */
export function table(results: readonly PartResult[]): string {
  const rows = results.map((result) => [
    result.part,
    String(result.rounds),
    `${result.failed.length} of ${result.activations}`,
    ratioOf(result, results).toFixed(3),
    result.restores.length === 0 ? '-' : Math.max(...result.restores).toFixed(0),
    Math.max(...result.resumes).toFixed(0),
    result.problems.join('; '),
  ]);
  const head = [
    'part',
    'rounds',
    'failed',
    'median ratio',
    'slowest restore ms',
    'slowest resume ms',
    'problems',
  ];
  return aligned([head, ...rows]);
}
