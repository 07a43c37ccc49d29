import { parseArgs } from 'node:util';
import { growthTable } from '../../bench/growth.js';
import { soak } from './soak.js';

/**
 * `npm run soak -- [--minutes 60] [--seed 1] [--manager simppo]`: exit code 1 where something
 * grows, or a part ended by itself.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    manager: { type: 'string', default: 'simppo' },
  },
});
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new RangeError(`--minutes ${values.minutes}: not a positive number`);
const log = (line: string): void => console.error(`${new Date().toISOString()} ${line}`);
const result = await soak({ minutes, seed: Number(values.seed), manager: values.manager, log });
console.log(growthTable(result.growth));
const growing = result.growth.filter(({ grows }) => grows);
console.log(
  `${minutes} min, ${result.samples} samples, ${result.sent} activations (` +
    `${result.failed} failed, ${result.delayed} while the soak itself was delayed), ` +
    `${growing.length} figures grow, ${result.restarted.length} parts ended by themselves`,
);
for (const line of result.restarted) console.log(`ended: ${line}`);
process.exitCode = growing.length > 0 || result.restarted.length > 0 || result.failed > 0 ? 1 : 0;
