import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  degradations,
  growthLines,
  seedGroups,
  verdictsOf,
} from '../../../experiments/simppo/figures.js';
import { SCALING_FLOORS } from '../../../experiments/simppo/floors.js';
import { convergedAfter, type GrowthStage } from '../../../experiments/simppo/growth.js';
import {
  floorsKey,
  growthKey,
  learnerKey,
  PieceStore,
} from '../../../experiments/simppo/pieces.js';
import {
  CONTENDED,
  KERNEL,
  PUBLISHED,
  QUICK,
  settingsOf,
} from '../../../experiments/simppo/protocol.js';
import { simppoReport } from '../../../experiments/simppo/report.js';
import { reproduceSimppo } from '../../../experiments/simppo/run.js';
import type { ContenderScore } from '../../../experiments/simppo/scores.js';
import { gleaner } from '../../support/gleaner.js';

function folderOf(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-simppo-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}

const score = (
  reward: number,
  violations: number,
  p99s: readonly number[] = [100, 200],
): ContenderScore => ({
  reward,
  violations,
  sloPreservation: 0.9,
  cpuUse: 0.5,
  memoryUse: 0.2,
  violatedSteps: 0.1,
  occupancy: 1,
  rewardOfRequests: reward,
  functions: p99s.map((p99, i) => ({ name: `/guest/f${i}`, reward, violations, p99, slo: 300 })),
});
const judged = (score: ContenderScore, alone = score) => ({ curve: [], score, alone });
const floorsAt = (reward: number, violations: number) =>
  Object.fromEntries(SCALING_FLOORS.map((name) => [name, score(reward, violations)]));

test('better is an interval apart: intervals that touch are not', (t) => {
  const size = { ...QUICK, seeds: [1, 2, 3, 4, 5, 6] };
  const store = new PieceStore(folderOf(t), size);
  // Of six seeds that alternate between m ± d the interval is m ± 2.571 x d √(6 / 5) / √6 = 1.15 d:
  // reward .7001 ± .0001, violations .21 ± .012.
  const turn = (seed: number, one: number, other: number): number => (seed % 2 ? one : other);
  for (const seed of size.seeds) {
    store.save(
      learnerKey('simppo', CONTENDED, seed),
      judged(score(turn(seed, 0.7, 0.7002), turn(seed, 0.2, 0.22))),
    );
    // Reward .5001 ± .0001: apart. Violations .255 ± .052: not apart.
    store.save(
      floorsKey(CONTENDED, seed),
      floorsAt(turn(seed, 0.5, 0.5002), turn(seed, 0.21, 0.3)),
    );
    // Reward .7 ± .001: not apart.
    store.save(
      learnerKey('single-agent', CONTENDED, seed),
      judged(score(turn(seed, 0.699, 0.701), 0.5)),
    );
    // Apart in both, but two seeds are missing.
    if (seed > 2) store.save(learnerKey('price-alone', CONTENDED, seed), judged(score(0.1, 0.9)));
  }
  const verdicts = new Map(verdictsOf(store, size, CONTENDED).map((one) => [one.against, one]));
  t.deepEqual(verdicts.get('kpa'), { against: 'kpa', reward: true, violations: false });
  t.deepEqual(verdicts.get('single-agent'), {
    against: 'single-agent',
    reward: false,
    violations: true,
  });
  t.deepEqual(verdicts.get('price-alone'), {
    against: 'price-alone',
    reward: false,
    violations: false,
  });
});

test('degradation is p99 of the same policies shared against alone, by function', (t) => {
  const store = new PieceStore(folderOf(t), QUICK);
  store.save(
    learnerKey('simppo', PUBLISHED, 1),
    judged(score(0.8, 0, [110, 260]), score(0.8, 0, [100, 200])),
  );
  store.save(learnerKey('single-agent', PUBLISHED, 1), judged(score(0.8, 0, [220, 1300])));
  const rows = new Map(degradations(store, QUICK, PUBLISHED).map((row) => [row.contender, row]));
  // simppo: 10 % and 30 %. single-agent: 2x and 5x of simppo, and as slow alone as in company.
  t.true(Math.abs(rows.get('simppo')!.median.mean - 0.2) < 1e-9);
  t.is(rows.get('single-agent')!.largest.mean, 0);
  t.true(Math.abs(rows.get('simppo')!.mean.mean - 0.2) < 1e-9);
  t.true(Math.abs(rows.get('simppo')!.largest.mean - 0.3) < 1e-9);
  t.true(Math.abs(rows.get('single-agent')!.ratio.mean - 3.5) < 1e-9);
  const page = simppoReport(store, QUICK, 'gleaner reproduce simppo');
  t.true(
    page.includes(
      '| p99 of multi-tenant `single-agent` / `simppo` ' +
        '| 2x to 4.4x; abstract 4.5x | 3.5 (3.5 to 3.5) |',
    ),
  );
});

test('drops are shares of what the old functions earned before', (t) => {
  const store = new PieceStore(folderOf(t), QUICK);
  const stage = (functions: number, added: number, after: number): GrowthStage => ({
    functions,
    added,
    before: 0.8,
    atOnce: 0.6,
    after,
    newAtOnce: 0.5,
    newAfter: 0.7,
    tripped: 1,
    retrainingEpisodes: 25,
    unsettled: 0,
    curve: [1, 2, 3, 4],
  });
  store.save(growthKey('simppo', 1), [stage(5, 2, 0.76), stage(8, 3, 0.84)]);
  const [first, second] = growthLines(store, QUICK);
  t.true(Math.abs(first!.dropAtOnce.mean - 0.25) < 1e-9);
  t.true(Math.abs(first!.drop.mean - 0.05) < 1e-9);
  t.true(Math.abs(second!.drop.mean + 0.05) < 1e-9);
  t.true(Math.abs(first!.tripped.mean - 1 / 3) < 1e-9);
  t.deepEqual(first!.curve, [1, 2, 3, 4]);
});

test('returns have converged after two windows of ten that agree', (t) => {
  const flat = (value: number, count: number): number[] => Array(count).fill(value);
  t.is(convergedAfter(flat(1, 19)), null);
  t.is(convergedAfter([...flat(0.97, 10), ...flat(1, 10)]), null);
  t.is(convergedAfter([...flat(0.985, 10), ...flat(1, 10)]), 0);
  // Deviation .06 around 1.
  const swinging = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? 0.94 : 1.06));
  t.is(convergedAfter([...flat(1, 10), ...swinging]), null);
});

test('retraining episodes are those before the returns were stable: from the start, none', (t) => {
  t.is(convergedAfter(Array(20).fill(1)), 0);
  t.is(convergedAfter([0.2, 0.5, 0.8, ...Array(20).fill(1)]), 3);
});

test('each contention law has its own price; single agents have none', (t) => {
  const price = (name: Parameters<typeof settingsOf>[0], setting = CONTENDED): number =>
    settingsOf(name, setting).reward.price;
  t.true(price('simppo', KERNEL) < price('simppo'));
  t.is(price('price-alone'), price('simppo'));
  t.is(price('price-alone', KERNEL), price('simppo', KERNEL));
  t.deepEqual([price('single-agent'), price('no-price', KERNEL)], [0, 0]);
});

test('seeds are shown apart where they do not follow each other', (t) => {
  t.deepEqual(seedGroups([1, 2, 3, 11, 12]), [
    [1, 2, 3],
    [11, 12],
  ]);
});

test('a piece of another study is run again, not believed', (t) => {
  const folder = folderOf(t);
  new PieceStore(folder, QUICK).save(growthKey('simppo', 1), []);
  t.true(new PieceStore(folder, { ...QUICK, seeds: [1] }).has(growthKey('simppo', 1)));
  t.false(new PieceStore(folder, { ...QUICK, episodes: 81 }).has(growthKey('simppo', 1)));
  writeFileSync(join(folder, `${growthKey('simppo', 2)}.json`), '{}');
  t.false(new PieceStore(folder, QUICK).has(growthKey('simppo', 2)));
});

test('pieces that there was no time for are missing, if they were asked for', async (t) => {
  const run = { quick: true, seeds: 1, minutes: 0, workers: 1, folder: folderOf(t), command: '' };
  const missing = async (all: boolean): Promise<string[]> =>
    (await reproduceSimppo({ ...run, all })).missed.filter((text) => text.endsWith('not run yet'));
  t.true((await missing(true)).includes('growth-simppo-1: not run yet'));
  // Three settings, each tuned and judged; eight agents.
  t.is((await missing(false)).length, 14);
});

test('reproduce simppo runs what is asked for, and before it what that needs', async (t) => {
  const folder = folderOf(t);
  const run = (only: string, ...options: string[]) =>
    gleaner([
      'reproduce',
      'simppo',
      '--quick',
      '--seeds',
      '1',
      '--first-seed',
      '7',
      '--only',
      only,
      '--out',
      folder,
      '--output',
      'json',
      ...options,
    ]);
  t.is((await run('floors-0.8-reserved')).code, 0);
  const { out } = await run('simppo-0.8-reserved', '--workers', '1');
  const { settings } = JSON.parse(out) as {
    settings: { lines: { contender: string; of: { occupancy: { mean: number } } }[] }[];
  };
  const requested = (name: string): number =>
    settings[0]!.lines.find(({ contender }) => contender === name)!.of.occupancy.mean;
  // Eighty episodes of six functions: too few to serve well, enough to leave the over-provisioned
  // start behind.
  t.true(requested('simppo') < 0.75 * requested('do-nothing'));
  t.deepEqual(readdirSync(join(folder, 'simppo-quick')).sort(), [
    'floors-0.8-reserved-7.json',
    'simppo-0.8-reserved-7.json',
    'tune-0.8-reserved.json',
  ]);
  const page = readFileSync(join(folder, 'simppo.md'), 'utf8');
  t.true(page.includes('`gleaner reproduce simppo --quick --seeds 1 --first-seed 7`'));
  t.true(page.includes('Not run yet.'));
});
