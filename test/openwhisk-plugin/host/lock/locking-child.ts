/**
 * Takes locks at the same moments as other processes and keeps them: `locking-child <path>…`. Is
 * told the first moment by standard input. Answers with a line of JSON: per lock `held`, or the
 * error's code. Lives until it is killed.
 */
import { once } from 'node:events';
import { HookLock } from '../../../../openwhisk-plugin/host/lock/index.js';

/** Between two locks, ms: longer than a process needs for one. */
const APART = 20;

process.stdout.write('ready\n');
const [first] = (await once(process.stdin, 'data')) as [Buffer];
const results: string[] = [];
for (const [i, path] of process.argv.slice(2).entries()) {
  const moment = Number(first) + i * APART;
  await new Promise((resolve) => setTimeout(resolve, moment - Date.now() - 5));
  // A timer is not exact enough.
  while (Date.now() < moment);
  try {
    await HookLock.acquire(path);
    results.push('held');
  } catch (error) {
    results.push((error as { code: string }).code);
  }
}
process.stdout.write(`${JSON.stringify(results)}\n`);
setInterval(() => undefined, 60_000);
