import { parseArgs } from 'node:util';
import { ensureActionImage } from '../../simulator/invoker-emulator/index.js';
import { NatsCluster } from './nats-cluster.js';
import { natsOutage } from './outage.js';
import { PARTS, type Part } from './processes.js';
import { Rig } from './rig.js';
import { INTERVAL, playRolling } from './rolling.js';
import { playRounds, RESTORE_BOUND, ratioOf, STALE_SLACK, table } from './rounds.js';
import { playSchedule } from './world/schedule.js';

/**
 * Run by hand (README.md); exit code 1 if a promise was broken. `npm run faults -- --rounds 20
 * [--part hook …] [--away 60]`: `kill -9` of every part in each round, then that many seconds
 * without NATS; `npm run faults -- --schedules 1000 [--seed 1]`: seeded schedules in virtual
 * time; `npm run faults -- --cluster`: every node of a NATS cluster killed, then a rolling restart.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    part: { type: 'string', multiple: true },
    away: { type: 'string', default: '0' },
    stale: { type: 'string', default: '2500' },
    schedules: { type: 'string' },
    seed: { type: 'string', default: '1' },
    cluster: { type: 'boolean', default: false },
  },
});

async function playSchedules(count: number, first: number): Promise<boolean> {
  let broken = 0;
  const sums = { activations: 0, lowered: 0, targets: 0 };
  for (let seed = first; seed < first + count; seed++) {
    const { faults, problems, activations, lowered, targets } = await playSchedule(seed);
    sums.activations += activations;
    sums.lowered += lowered;
    sums.targets += targets;
    if (problems.length > 0) {
      broken++;
      console.log(
        [
          `seed ${seed}`,
          ...faults,
          ...problems.slice(0, 10).map((problem) => `  ! ${problem}`),
        ].join('\n'),
      );
    }
    if ((seed - first) % 50 === 49)
      console.error(`${seed - first + 1} schedules, ${broken} with violations`);
  }
  console.log(
    `${count} schedules from seed ${first}: ${broken} with violations; ${JSON.stringify(sums)}`,
  );
  return broken > 0;
}

async function playCluster(): Promise<boolean> {
  const cluster = new NatsCluster();
  try {
    await cluster.start();
    const { resumed, activations, lowered, problems } = await playRolling(
      cluster,
      ['leader', 0, 1, 2],
      [0, 1, 2],
    );
    for (const { what, after } of resumed)
      console.log(`${what}: decisions again after ${(after / 1000).toFixed(1)} s`);
    console.log(
      `${activations} activations, ${lowered} with lowered limits, ${problems.length} problems`,
    );
    for (const problem of problems) console.log(problem);
    return problems.length > 0 || resumed.some(({ after }) => after > 3 * INTERVAL);
  } finally {
    await cluster.remove();
  }
}

if (values.schedules !== undefined || values.cluster) {
  let broken =
    values.schedules !== undefined &&
    (await playSchedules(Number(values.schedules), Number(values.seed)));
  if (values.cluster) broken = (await playCluster()) || broken;
  process.exit(broken ? 1 : 0);
}
const [rounds, away, staleMillis] = [
  Number(values.rounds),
  Number(values.away),
  Number(values.stale),
];
const parts =
  values.part === undefined ? PARTS : PARTS.filter((part: Part) => values.part?.includes(part));
const rig = new Rig({ prefix: 'wskglfm', image: await ensureActionImage(), staleMillis });
try {
  await rig.start();
  const log = (line: string): void => console.error(line);
  const results = rounds > 0 ? await playRounds(rig, { rounds, parts, staleMillis, log }) : [];
  if (rounds > 0) console.log(table(results));
  let broken = results.some(
    (result) =>
      result.failed.length > 0 ||
      result.problems.length > 0 ||
      ratioOf(result, results) > 1.05 ||
      ((result.part === 'hook' || result.part === 'tcpdump') &&
        result.restores.some((ms) => ms > RESTORE_BOUND)),
  );
  if (away > 0) {
    const outage = await natsOutage(rig, away);
    console.log(`NATS away for ${away} s: ${JSON.stringify(outage)}`);
    const { failed, userLimitsAfter, loweredUntil, loweredAfter, unavailableLogLines } = outage;
    const late = userLimitsAfter === null || loweredUntil > staleMillis + STALE_SLACK;
    broken ||= failed.length > 0 || late || loweredAfter > 0 || unavailableLogLines !== 1;
  }
  process.exitCode = broken ? 1 : 0;
} finally {
  await rig.stop();
}
