import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { asProcess, Outsiders } from '../../bench/benefit/outsiders.js';

/** Lines as the program writes them: when a piece was due, and how long after that it was done. */
const pieces = (count: number, from: number, millis: number): string =>
  Array.from({ length: count }, (_, n) => `${from + n * 60} ${millis}\n`).join('');

test('the loss of an outsider is its mean time with writes over that without', async (t) => {
  const outsiders = new Outsiders({
    other: async (program, folder) => {
      t.is(program('/out').at(-1), '/out/pieces');
      // Of 6 s each without and with writes; one after both counts in neither.
      const text = pieces(100, 0, 4) + pieces(100, 6000, 5) + pieces(1, 12_000, 1000);
      writeFileSync(join(folder, 'pieces'), text);
      return () => Promise.resolve();
    },
  });
  await outsiders.start();
  outsiders.note('off', 0, 6000);
  outsiders.note('on', 6000, 12_000);
  const [loss, enough] = outsiders.rows('weight');
  await outsiders.stop();
  t.like(loss, { name: 'weight.outside.other', value: 5, baseline: 4, ratio: 1.25 });
  t.like(enough, { value: 1, failed: false });
});

test('an outsider that did less than half of its pieces breaks the bench', async (t) => {
  const outsiders = new Outsiders({
    starved: async (_, folder) => {
      writeFileSync(join(folder, 'pieces'), pieces(40, 0, 4));
      return () => Promise.resolve();
    },
  });
  await outsiders.start();
  outsiders.note('off', 0, 6000);
  outsiders.note('on', 0, 6000);
  t.true(outsiders.rows('weight')[1]?.failed);
  await outsiders.stop();
});

test('a process outside does its pieces until it is stopped', async (t) => {
  const outsiders = new Outsiders({ process: asProcess });
  const begun = Date.now();
  await outsiders.start();
  // Written in groups of 16: the first after about a second.
  await new Promise((resolve) => setTimeout(resolve, 2500));
  outsiders.note('off', begun, Date.now());
  outsiders.note('on', begun, Date.now());
  await outsiders.stop();
  // 3 ms of CPU each.
  t.true(outsiders.rows('weight')[0]!.value >= 3);
});
