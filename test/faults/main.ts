import { parseArgs } from 'node:util';
import { ensureActionImage } from '../../simulator/index.js';
import { natsOutage } from './outage.js';
import { PARTS, type Part } from './processes.js';
import { Rig } from './rig.js';
import { playRounds, RESTORE_BOUND, ratioOf, STALE_SLACK, table } from './rounds.js';

/**
 * By hand (README.md): `npm run faults -- --rounds 20 [--part hook …] [--away 60]`. Every part killed with -9 so often, then NATS
 * away for so many seconds. Exit code 1 where a promise was broken.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    part: { type: 'string', multiple: true },
    away: { type: 'string', default: '0' },
    stale: { type: 'string', default: '2500' },
  },
});
const [rounds, away, staleMillis] = [Number(values.rounds), Number(values.away), Number(values.stale)];
const parts = values.part === undefined ? PARTS : PARTS.filter((part: Part) => values.part?.includes(part));
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
      result.restores.some((ms) =>
        result.part === 'hook' || result.part === 'tcpdump' ? ms > RESTORE_BOUND : ms > staleMillis + STALE_SLACK,
      ),
  );
  if (away > 0) {
    const outage = await natsOutage(rig, away);
    console.log(`NATS away for ${away} s: ${JSON.stringify(outage)}`);
    const { failed, userLimitsAfter, loweredAfter, awayLines } = outage;
    const late = userLimitsAfter === null || userLimitsAfter > staleMillis + STALE_SLACK;
    broken ||= failed.length > 0 || late || loweredAfter > 0 || awayLines !== 1;
  }
  process.exitCode = broken ? 1 : 0;
} finally {
  await rig.stop();
}
