import { parseArgs } from 'node:util';
import { missingForNode } from '../../bench/kubernetes/node.js';
import { kubeletProgram } from './build.js';
import { KubeletRun } from './run.js';

/**
 * `npm run test:kubelet -- [--minutes 3]`: Gleaner beside a real kubelet (README.md). Ends with
 * `N passed, N failed`; exit code 1 if a check failed, 2 if it cannot run.
 */
const { values } = parseArgs({ options: { minutes: { type: 'string', default: '3' } } });
const minutes = Number(values.minutes);
if (!(minutes >= 1)) throw new RangeError(`--minutes ${values.minutes}: not a number from 1 on`);
const log = (line: string): void => console.error(`${new Date().toISOString()} ${line}`);
const missing = missingForNode();
if (missing.length > 0) {
  console.error(`test:kubelet: needs ${missing.join(', ')}`);
  process.exit(2);
}
const run = new KubeletRun(kubeletProgram(log), minutes, log);
const checks = await run.whole();
let failed = 0;
for (const { name, found, isGood } of checks) {
  if (!isGood) failed++;
  console.log(`${isGood ? 'ok' : 'not ok'} - ${name}: ${found}`);
}
console.log(`${checks.length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
