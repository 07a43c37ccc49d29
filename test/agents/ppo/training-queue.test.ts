import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { TrainingQueue } from '../../../agents/ppo/index.js';
import { silentLogger } from '../../../broker/index.js';

/** A thread that doubles numbers; 13 fails and 0 ends it. */
const script = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', (job) => {
      if (job === 0) process.exit(1);
      parentPort.postMessage(job === 13 ? { error: 'thirteen' } : { result: 2 * job });
    });
  `)}`,
);

test('jobs run in order; failed jobs give null, count, and are reported once', async (t) => {
  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (...about: unknown[]) => void warnings.push(about) };
  const queue = new TrainingQueue<number, number>({ script, owner: 'learners', logger });
  t.teardown(() => queue.close());
  t.deepEqual(await Promise.all([1, 13, 2, 0, 3].map((job) => queue.learn(job))), [
    2,
    null,
    4,
    null,
    6,
  ]);
  t.deepEqual(queue.counts, { learned: 3, dropped: 0, failures: 2 });
  t.deepEqual(warnings, [[{ error: 'thirteen' }, 'learners could not learn']]);
});

test('beyond one running and 64 waiting jobs, jobs are dropped and counted', async (t) => {
  const queue = new TrainingQueue<number, number>({ script });
  t.teardown(() => queue.close());
  const results = await Promise.all(Array.from({ length: 70 }, () => queue.learn(1)));
  t.is(results.filter((result) => result === null).length, 5);
  t.deepEqual(queue.counts, { learned: 65, dropped: 5, failures: 0 });
});

test('waiting jobs are dropped on close, and every promise settles', async (t) => {
  const queue = new TrainingQueue<number, number>({ script });
  const waiting = [queue.learn(1), queue.learn(2)];
  await queue.close();
  t.deepEqual(await Promise.all(waiting), [null, null]);
});

test('a thread that dies fails its own job and is replaced', async (t) => {
  const queue = new TrainingQueue<number, number>({ script });
  t.teardown(() => queue.close());
  t.deepEqual(await Promise.all([queue.learn(0), queue.learn(4)]), [null, 8]);
  t.is(await queue.learn(0), null);
  t.is(await queue.learn(5), 10);
});

test('after it is closed nothing is learned', async (t) => {
  const queue = new TrainingQueue<number, number>({ script });
  await queue.close();
  t.is(await queue.learn(1), null);
});

test('a job that cannot be sent to the thread fails, and the next one is learned', async (t) => {
  const queue = new TrainingQueue<unknown, number>({ script });
  t.teardown(() => queue.close());
  // Functions cannot be cloned.
  t.deepEqual(await Promise.all([queue.learn(() => 1), queue.learn(4)]), [null, 8]);
  t.deepEqual(queue.counts, { learned: 1, dropped: 0, failures: 1 });
});

test('a first job that cannot be sent leaves no thread that keeps the process alive', async (t) => {
  const module = new URL('../../../agents/ppo/index.js', import.meta.url);
  const program = `
    const { TrainingQueue } = await import(${JSON.stringify(module.href)});
    const queue = new TrainingQueue({ script: new URL(${JSON.stringify(script.href)}) });
    console.log(await queue.learn(() => 1));
  `;
  const args = ['--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
  t.is(stdout, 'null\n');
});
