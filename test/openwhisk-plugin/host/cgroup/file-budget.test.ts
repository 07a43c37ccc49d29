import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { FileBudget } from '../../../../openwhisk-plugin/host/cgroup/file-budget.js';

/** Notes who had to close its files. */
function users(count: number, closedFiles: number[]): { closeFiles(): void }[] {
  return Array.from({ length: count }, (_, i) => ({ closeFiles: () => closedFiles.push(i) }));
}

test('the container sampled longest ago closes its files when another needs them', (t) => {
  // 512 of the process's own, 7 for each of 67 containers, 6 for each sampled: (512 + 469 + 6 x 66
  // - 512 - 469) / 6 = 66.
  const budget = new FileBudget(512 + 67 * 7 + 6 * 66);
  const closedFiles: number[] = [];
  const all = users(67, closedFiles);
  for (const _ of all) budget.opened(7);
  t.is(budget.most, 66);
  for (const user of all.slice(0, 66)) budget.use(user);
  t.deepEqual(closedFiles, []);
  // 0 is sampled again, so 1 is the oldest when the last one comes.
  budget.use(all[0]!);
  budget.use(all[66]!);
  t.deepEqual(closedFiles, [1]);
  t.is(budget.inUse, 66);
});

test('a new container takes its descriptors from the samples’ budget, and returns them', (t) => {
  const budget = new FileBudget(512 + 6 * 100);
  t.is(budget.most, 100);
  const [first, ...closeFiles] = users(10, []);
  for (const user of [first!, ...closeFiles]) {
    budget.opened(7);
    budget.use(user);
  }
  // 600 - 70 = 530, 88 samples
  t.is(budget.most, 88);
  budget.closed(first!, 7);
  t.is(budget.inUse, 9);
  // 600 - 63 = 537
  t.is(budget.most, 89);
  t.true(new FileBudget(100).most > 0, 'even if there are far too few');
});

test('the limit is read from the process, and a root without /proc has a usual one', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'glcg-budget-'));
  t.teardown(() => rmSync(root, { recursive: true }));
  // (65536 - 512) / 6 = 10837
  t.is(FileBudget.ofProcess(root).most, 10_837);
  mkdirSync(join(root, 'proc/self'), { recursive: true });
  writeFileSync(
    join(root, 'proc/self/limits'),
    'Limit                     Soft Limit           Hard Limit           Units     \n' +
      'Max processes             96365                96365                processes \n' +
      'Max open files            20512                20512                files     \n',
  );
  // (20512 - 512) / 6
  t.is(FileBudget.ofProcess(root).most, 3333);
});
